/** Where a reader of all runs goes on: when very many move at once, when clocks are wrong, and when runs are removed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createHost } from 'nerve'
import { connect, connectHttp, type Client } from 'nerve/client'
import { definitions, hostUnderTest, waiting, type UnderTest } from './host-under-test.ts'
import { Account, expectWhole } from './reading.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const end of ends.splice(0).reverse()) await end()
})

async function hosted(dir?: string): Promise<{ readonly under: UnderTest; readonly client: Client }> {
  const under = await hostUnderTest({}, dir === undefined ? { store: 'memory' } : { dir })
  const client = await connect(under.socket)
  ends.push(under.end, () => client.close())
  return { under, client }
}

/** What a browser gets that comes back with the last id it had: its events, and the ids that came with them. */
function visit(socket: string, last: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'last-event-id': last }
    const asked = request({ socketPath: socket, path: '/v1/events?once=true', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (more: string) => (text += more))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    asked.on('error', reject).end()
  })
}

describe('thousands of runs that move at once', () => {
  it('are followed over lost connections, without loss by all, and without doubles by the client', async () => {
    // However long it takes here: all of them moved lately.
    vi.spyOn(Date, 'now').mockReturnValue(Date.now())
    const { under, client } = await hosted()
    const runs: string[] = []
    for (let i = 0; i < 40; i += 1)
      runs.push(
        ...(await Promise.all(Array.from({ length: 100 }, async () => (await client.runs.start('waiting')).id))),
      )
    const clients = { socket: client, http: await connectHttp(under.url, under.token) }
    ends.push(() => clients.http.close())
    const accounts = Object.entries(clients).map(([name, reader]) => ({
      name,
      reader,
      account: new Account(),
      after: '0',
    }))
    for (const one of accounts) {
      const options = { after: one.after, once: true, onCursor: (cursor: string) => void (one.after = cursor) }
      for await (const item of one.reader.events(options)) one.account.add(item)
      expect(one.after.length).toBeGreaterThan(65_536)
    }
    const first = await visit(under.socket, '0')
    const id =
      first.text
        .match(/^id: .*$/gm)
        ?.at(-1)
        ?.slice('id: '.length) ?? ''
    for (const run of runs.slice(-10)) await client.run(run).signal('go', 1)
    for (const { reader, account, after, name } of accounts) {
      for await (const item of reader.events({ after, once: true })) account.add(item)
      expect({ name, runs: account.seen.size }).toEqual({ name, runs: runs.length })
      await expectWhole(under.host, account, runs)
    }
    const { status, text } = await visit(under.socket, id)
    const ended = text.match(/"type":"run-completed"/g)
    expect({ status, ended: ended?.length }).toEqual({ status: 200, ended: 10 })
  })
})

describe('a clock that is wrong', () => {
  /** From now on, the clock of everybody here is so many milliseconds off. */
  const setClock = (off: number): void => {
    const now = performance.timeOrigin
    vi.spyOn(Date, 'now').mockImplementation(() => Math.round(now + performance.now()) + off)
  }

  /** Everything up to now is known, and no run is named. */
  const upToNow = (): string => Date.now().toString(36)

  /** Reads until it is told to leave, and says where it was. Resolves when it is there. */
  async function reading(client: Client, account: Account, after: string): Promise<() => Promise<string>> {
    const over = new AbortController()
    const there = Promise.withResolvers<void>()
    let last = after
    const ended = (async () => {
      const onCursor = (cursor: string): void => {
        last = cursor
        there.resolve()
      }
      for await (const item of client.events({ after, signal: over.signal, onCursor })) account.add(item)
    })()
    await there.promise
    return async () => {
      over.abort()
      await ended
      return last
    }
  }

  async function readAll(client: Client, account: Account, after = '0'): Promise<void> {
    for await (const item of client.events({ after, once: true })) account.add(item)
  }

  it('hides nothing when it is set back, whether a reader stays or leaves and comes back', async () => {
    const { under, client } = await hosted()
    const account = new Account()
    setClock(0)
    const [before, idle] = [await client.runs.start('waiting'), await client.runs.start('waiting')]
    await readAll(client, account)
    setClock(60_000)
    const leave = await reading(client, account, upToNow())
    setClock(-3_600_000)
    await before.signal('go', 1)
    const during = await client.runs.start('busy', 3)
    for (const run of [before, during]) await run.result()
    const has = (run: { id: string }, last: number): boolean => account.has(run.id, last)
    const length = async ({ id }: { id: string }): Promise<number> => (await under.host.journal(id)).length
    for (const run of [before, during]) {
      const last = await length(run)
      await expect.poll(() => has(run, last)).toBe(true)
    }
    const after = await leave()
    const away = await client.runs.start('busy', 3)
    await idle.signal('go', 1)
    for (const run of [idle, away]) await run.result()
    await readAll(client, account, after)
    // What happened in the time that comes again may come again.
    account.seen.set(idle.id, [...new Set(account.seen.get(idle.id))])
    for (const { id } of [before, idle, during, away]) await expectWhole(under.host, account, [id])
  })

  it('of another process, or one that is late, hides nothing of what it writes', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'nerve-places-'))
    ends.push(() => rmSync(dir, { recursive: true, force: true }))
    const { under, client } = await hosted(dir)
    // It is half a minute late, as one that is busy between an event and its commit.
    const clock = { now: () => Date.now() - 30_000, at: (at: number, call: () => void) => later(at, call) }
    const other = await createHost({ dir, definitions, recover: false, clock })
    ends.push(() => other.close())
    const run = await other.start(waiting)
    const account = new Account()
    await readAll(client, account)
    const leave = await reading(client, account, upToNow())
    await run.signal('go', 1)
    await run.result()
    const last = (await other.journal(run.id)).length
    await expect.poll(() => account.has(run.id, last), { timeout: 10_000 }).toBe(true)
    await leave()
    await expectWhole(under.host, account, [run.id])
  })
})

function later(at: number, call: () => void): () => void {
  const timer = setTimeout(call, Math.max(0, at - Date.now()))
  return () => clearTimeout(timer)
}

describe('a run that is removed', () => {
  it('ends the feed of who still reads it, and holds up nobody else', async () => {
    const { under, client } = await hosted()
    const run = await client.runs.start('busy', 5)
    await run.result()
    const items = client.run(run.id).events({ after: '1' })[Symbol.asyncIterator]()
    const all = client.events({ after: '0' })[Symbol.asyncIterator]()
    expect(await all.next()).toMatchObject({ value: { run: run.id, seq: 1 } })
    const [handle, late] = [await under.host.handle(run.id), new AbortController()]
    expect(await client.runs.remove({ olderThan: '0ms' })).toEqual([run.id])
    // Whoever had it in hand, and had not read it yet.
    await expect(handle.events({ after: 3, signal: late.signal })[Symbol.asyncIterator]().next()).rejects.toThrow(
      'was removed',
    )
    await expect(items.next()).rejects.toThrow(/no run|removed/)
    const next = await client.runs.start('busy', 1)
    for (let found = await all.next(); !found.done && found.value.run !== next.id;) found = await all.next()
    await all.return?.()
  })
})
