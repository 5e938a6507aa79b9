/** Who does not read is let go, holds up nobody, and gets the rest when it comes back: on every way that can be slow. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect as connectSocket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { connect } from 'nerve/client'
import { hostUnderTest } from './host-under-test.ts'

interface Got {
  readonly seq: number
  readonly cursor: string
}

interface Reading {
  /** Takes what has come, and what comes from now on. */
  readonly read: () => void
  readonly over: Promise<unknown>
  /** What came whole. */
  readonly got: () => readonly Got[]
}

interface Wanted {
  readonly socket: string
  readonly run: string
  readonly after?: string | undefined
}

/** Each asks for the events of a run, and takes nothing before it is told to. */
const ways: Readonly<Record<string, (wanted: Wanted) => Promise<Reading>>> = {
  async lines({ socket, ...input }) {
    const there = connectSocket(socket)
    const over = closed(there)
    let text = ''
    let last = ''
    there.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      last = (last + chunk.toString()).slice(-20)
      // The end of the feed does not end the connection.
      if (last.endsWith('"end":true}\n')) there.destroy()
    })
    there.pause().write(`${JSON.stringify({ id: 1, feed: 'events', input })}\n`)
    return { read: () => there.resume(), over, got: () => text.split('\n').slice(0, -1).flatMap(framed) }
  },

  async 'server-sent events'({ socket, run, after }) {
    const headers = after === undefined ? {} : { 'last-event-id': after }
    const asked = request({ socketPath: socket, path: `/v1/events?run=${run}`, headers })
      .on('error', () => undefined)
      .end()
    const [there] = (await once(asked, 'response')) as [NodeJS.ReadableStream]
    const over = closed(there)
    let text = ''
    const read = (): void => void there.on('data', (part: Buffer) => (text += part.toString()))
    return { read, over, got: () => text.split('\n\n').slice(0, -1).flatMap(told) }
  },

  async 'a WebSocket'({ socket, ...input }) {
    const there = new WebSocket('ws://nerve/v1/socket', { createConnection: () => connectSocket(socket) })
    await once(there, 'open')
    const over = closed(there)
    const texts: string[] = []
    there
      .on('error', () => undefined)
      .on('message', (data) => {
        texts.push((data as Buffer).toString())
        if (texts.at(-1)?.includes('"end":true')) there.close()
      })
    there.send(JSON.stringify({ id: 1, feed: 'events', input }))
    there.pause()
    return { read: () => there.resume(), over, got: () => texts.flatMap(framed) }
  },
}

/** Also when it is cut off: that is what happens here. */
function closed(there: NodeJS.EventEmitter): Promise<unknown> {
  there.on('error', () => undefined)
  return new Promise((resolve) => there.once('close', resolve))
}

function framed(text: string): Got[] {
  const { item, cursor } = JSON.parse(text) as { item?: { seq: number }; cursor?: string }
  return item === undefined || cursor === undefined ? [] : [{ seq: item.seq, cursor }]
}

function told(block: string): Got[] {
  const [, cursor] = /^id: (\d+)$/m.exec(block) ?? []
  const [, seq] = /^data: .*"seq":(\d+)/m.exec(block) ?? []
  return cursor === undefined || seq === undefined ? [] : [{ seq: Number(seq), cursor }]
}

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

it.each(Object.entries(ways))('%s', async (_way, open) => {
  const under = await hostUnderTest({ patience: 300 })
  ends.push(under.end)
  const client = await connect(under.socket)
  ends.push(() => client.close())
  const big = await client.runs.start('chatty', 400)
  const wanted = { socket: under.socket, run: big.id }
  const slow = await open(wanted)
  // It holds up neither the run nor others who read it.
  expect(await big.result()).toBe(400)
  const total = (await under.host.journal(big.id)).length
  const quick = await open(wanted)
  quick.read()
  await quick.over
  const all = Array.from({ length: total }, (_, at) => at + 1)
  expect(quick.got().map(({ seq }) => seq)).toEqual(all)
  // Only the client that looks on is left.
  await expect.poll(() => under.server.connections, { timeout: 10_000 }).toBe(1)
  slow.read()
  await slow.over
  const got = slow.got()
  expect(got.length).toBeGreaterThan(0)
  expect(got.length).toBeLessThan(total)
  const back = await open({ ...wanted, after: got.at(-1)?.cursor })
  back.read()
  await back.over
  expect([...got, ...back.got()].map(({ seq }) => seq)).toEqual(all)
  expect(under.problems).toEqual([])
})
