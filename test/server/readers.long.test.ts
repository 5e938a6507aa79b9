/** A thousand who read at once, while many runs go on and clients come and go. */
import { setTimeout as delay } from 'node:timers/promises'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect, connectHttp } from 'nerve/client'
import { busy, hostUnderTest, type UnderTest } from './host-under-test.ts'
import { Account, expectWhole, lengths } from './reading.ts'

const READERS = 1_000
const RUNS = 200
const STEPS = 20

let under: UnderTest
const dir = mkdtempSync(join(tmpdir(), 'nerve-readers-long-'))
beforeAll(async () => {
  under = await hostUnderTest({ rate: { burst: 100_000, perSecond: 10_000 } }, { dir })
})
afterAll(async () => {
  await under.end()
  rmSync(dir, { recursive: true, force: true })
})

it('a thousand readers of one run, over HTTP, get every event once', async () => {
  const client = await connect(under.socket)
  const run = await client.runs.start('waiting')
  const accounts = Array.from({ length: READERS }, () => new Account())
  const http = await connectHttp(under.url, under.token)
  const readers = accounts.map(async (account) => {
    for await (const item of http.run(run.id).events()) account.add(item)
  })
  await expect.poll(() => accounts.every((account) => account.seen.size > 0), { timeout: 120_000 }).toBe(true)
  await run.signal('go', 1)
  await Promise.all(readers)
  for (const account of accounts) await expectWhole(under.host, account, [run.id])
  await Promise.all([client.close(), http.close()])
})

it('readers of all runs who leave at random and come back miss nothing and get nothing twice', async () => {
  const over = new AbortController()
  const accounts = Array.from({ length: 20 }, () => new Account())
  const readers = accounts.map(async (account, at) => {
    const client = await (at % 2 === 0 ? connect(under.socket) : connectHttp(under.url, under.token))
    let after = '0'
    while (!over.signal.aborted) {
      const leave = new AbortController()
      const timer = setTimeout(() => leave.abort(), 50 + Math.random() * 500)
      const signal = AbortSignal.any([leave.signal, over.signal])
      // Given with its event: what was given is not asked for again.
      for await (const item of client.events({ after, signal, onCursor: (place) => (after = place) })) account.add(item)
      clearTimeout(timer)
    }
    await client.close()
  })
  const runs: string[] = []
  for (let i = 0; i < RUNS; i += 1) {
    runs.push((await under.host.start(busy, STEPS)).id)
    if (i % 10 === 0) await delay(20)
  }
  await Promise.all(runs.map(async (run) => (await under.host.handle(run)).result()))
  const last = await lengths(under.host, runs)
  await expect
    .poll(() => accounts.every((account) => runs.every((run) => account.has(run, last.get(run) ?? 0))), {
      timeout: 60_000,
    })
    .toBe(true)
  over.abort()
  await Promise.all(readers)
  for (const account of accounts) await expectWhole(under.host, account, runs)
  expect(under.problems).toEqual([])
})
