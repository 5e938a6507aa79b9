/** Many who read, some slowly, some who come and go: none misses a durable event, none gets one twice. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { createHost } from 'nerve'
import { connect, connectHttp, type Client } from 'nerve/client'
import { busy, definitions, hostUnderTest, type UnderTest } from './host-under-test.ts'
import { Account, expectWhole, lengths } from './reading.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function hosted(...args: Parameters<typeof hostUnderTest>): Promise<UnderTest> {
  const under = await hostUnderTest(...args)
  ends.push(under.end)
  return under
}

/** A way to a host that is cut now and then. */
async function unreliable(port: number): Promise<{ readonly port: number; readonly cut: () => void }> {
  const open = new Set<Socket>()
  const server: Server = createServer((near) => {
    const far = connectSocket(port, '127.0.0.1')
    for (const one of [near, far]) {
      open.add(one)
      one.on('error', () => undefined).on('close', () => open.delete(one))
    }
    near.pipe(far).pipe(near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const one of open) one.destroy()
  }
  ends.push(() => {
    cut()
    server.close()
  })
  return { port: (server.address() as { port: number }).port, cut }
}

describe('a hundred readers', () => {
  it('of one run get every event once', async () => {
    const under = await hosted()
    const client = await connect(under.socket)
    ends.push(() => client.close())
    const run = await client.runs.start('waiting')
    const accounts = Array.from({ length: 100 }, () => new Account())
    const readers = accounts.map(async (account, at) => {
      const feed = at % 2 === 0 ? client : await connectHttp(under.url, under.token)
      for await (const item of feed.run(run.id).events()) account.add(item)
    })
    await expect.poll(() => accounts.every((account) => account.seen.size > 0), { timeout: 10_000 }).toBe(true)
    await run.signal('go', 1)
    await Promise.all(readers)
    for (const account of accounts) await expectWhole(under.host, account, [run.id])
  })
})

describe('who loses the connection again and again', () => {
  it('misses nothing and gets nothing twice, of one run and of all', async () => {
    const under = await hosted({}, folderStore())
    const way = await unreliable(Number(new URL(under.url).port))
    const clients: Client[] = [
      await connectHttp(`http://127.0.0.1:${way.port}`, under.token, { fetch: withHost(under.url) }),
      await connect(`tcp://127.0.0.1:${way.port}`, { token: under.token }),
    ]
    ends.push(...clients.map((client) => () => client.close()))
    const stop = new AbortController()
    let lost = 0
    let places = 0
    const all = clients.map(() => new Account())
    const watching = clients.map(async (client, at) => {
      const options = { after: '0', signal: stop.signal, onLost: () => (lost += 1), onCursor: () => (places += 1) }
      for await (const item of client.events(options)) all[at]?.add(item)
    })
    await expect.poll(() => places).toBeGreaterThan(1)
    const runs: string[] = []
    const single: Account[] = []
    const following: Promise<void>[] = []
    for (let i = 0; i < 12; i += 1) {
      const { id } = await under.host.start(busy, 40)
      runs.push(id)
      const account = new Account()
      single.push(account)
      following.push(
        (async () => {
          for await (const item of (clients[i % 2] as Client).run(id).events({ onLost: () => (lost += 1) }))
            account.add(item)
        })(),
      )
      await delay(Math.random() * 20)
      if (i % 2 === 1) way.cut()
    }
    await Promise.all(runs.map(async (run) => (await under.host.handle(run)).result()))
    await Promise.all(following)
    const last = await lengths(under.host, runs)
    await expect
      .poll(() => all.every((account) => runs.every((run) => account.has(run, last.get(run) ?? 0))), {
        timeout: 15_000,
      })
      .toBe(true)
    stop.abort()
    await Promise.all(watching)
    expect(lost).toBeGreaterThan(0)
    for (const account of all) await expectWhole(under.host, account, runs)
    for (const [at, account] of single.entries()) await expectWhole(under.host, account, [runs[at] ?? ''])
  })
})

describe('many runs at once', () => {
  it('make cursors rare, and who leaves and comes back still gets each event once', async () => {
    const under = await hosted()
    const client = await connectHttp(under.url, under.token)
    ends.push(() => client.close())
    const waiting = await Promise.all(Array.from({ length: 150 }, () => client.runs.start('waiting')))
    const account = new Account()
    let after = '0'
    const place = (cursor: string): void => void (after = cursor)
    /** Leaves at the event after these, which was not dealt with: it has to come again. */
    const readSome = async (most: number): Promise<void> => {
      let left = most
      for await (const item of client.events({ after, onCursor: place })) {
        if (left === 0) return
        account.add(item)
        left -= 1
      }
    }
    await readSome(225)
    expect(after.length).toBeGreaterThan(2_048)
    const rest = (async () => {
      for (let most = 5; most < 20; most += 3) await readSome(most)
    })()
    await Promise.all(waiting.map((run) => run.signal('go', 1)))
    await rest
    const last = await lengths(
      under.host,
      waiting.map(({ id }) => id),
    )
    const total = [...last.values()].reduce((sum, length) => sum + length, 0)
    expect(account.events).toBeLessThan(total)
    for await (const item of client.events({ after, once: true })) account.add(item)
    for (const { id } of waiting) await expectWhole(under.host, account, [id])
    const response = await fetch(`${under.url}/v1/events?after=0&once=true`, {
      headers: { authorization: `Bearer ${under.token}` },
    })
    const text = await response.text()
    expect(text.match(/^data: \{"type"/gm)).toHaveLength(total)
    expect(text.match(/^id: /gm)?.length ?? 0).toBeLessThan(total * 0.75)
  })
})

describe('what another process writes', () => {
  it('is in the feed of all runs', async () => {
    const { dir } = folderStore()
    const under = await hosted({}, { dir })
    const client = await connect(under.socket)
    ends.push(() => client.close())
    const account = new Account()
    const stop = new AbortController()
    const watching = (async () => {
      for await (const item of client.events({ signal: stop.signal, after: '0' })) account.add(item)
    })()
    const other = await createHost({ dir, definitions, recover: false })
    ends.push(() => other.close())
    const runs: string[] = []
    for (let i = 0; i < 3; i += 1) {
      const handle = await other.start(busy, 10)
      await handle.result()
      runs.push(handle.id)
    }
    const last = await lengths(other, runs)
    await expect.poll(() => runs.every((run) => account.has(run, last.get(run) ?? 0)), { timeout: 10_000 }).toBe(true)
    stop.abort()
    await watching
    await expectWhole(other, account, runs)
  })
})

function folderStore(): { readonly dir: string } {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-readers-'))
  ends.unshift(() => rmSync(dir, { recursive: true, force: true }))
  return { dir }
}

/** The proxy has another port than the host it leads to. */
function withHost(url: string): typeof fetch {
  return (input, init) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    const headers = { ...(init?.headers as Record<string, string>), host: new URL(url).host }
    const sent = request(input as string, { method: init?.method ?? 'GET', headers, agent: false })
    sent.on('error', reject).on('response', (response) => {
      const body = Readable.toWeb(response) as unknown as ReadableStream
      resolve(new Response(body, { status: response.statusCode ?? 0 }))
    })
    init?.signal?.addEventListener('abort', () => sent.destroy(new Error('aborted')))
    sent.end(init?.body as string)
    return promise
  }
}
