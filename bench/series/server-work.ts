// What is asked of every server, and clients that cost as little as they can: the same for all series.
import { spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Prepared, Setup } from '../harness/contract.ts'
import { expectEqual } from '../harness/measure.ts'
import type { Served } from './gateway-work.ts'

/** A run as `runs.get` shows it: what the floors answer, because they have no runs. */
export const ROW = JSON.stringify({
  run: '01kt0000000000000000000000',
  definition: 'burst',
  status: 'completed',
  created: 1_790_000_000_000,
  updated: 1_790_000_000_000,
  ended: 1_790_000_000_000,
  root: '01kt0000000000000000000000',
  failures: 0,
  steps: 1,
  usage: { steps: 1 },
  questions: [],
  signals: [],
})

/** An event as the feed gives it. */
export function eventText(seq: number): string {
  const event = { type: 'step-completed', path: `n${seq}`, attempt: 1, output: { count: seq } }
  const placed = { ...event, run: '01kt0000000000000000000000', seq, time: 1_790_000_000_000 }
  return `id: mfz0abcd~01kt0000000000000000000000:${seq}\ndata: ${JSON.stringify(placed)}\n\n`
}

/** A run begins and ends with an event of its own. */
export const eventsOf = (steps: number): number => steps + 2

export interface Asked extends Served {
  /** Where a run is shown. */
  readonly row: string
}

export function asking(served: Asked): Prepared<string> {
  const agent = new Agent({ keepAlive: true })
  const { url, row, token } = served
  return {
    steps: 1,
    run: () =>
      new Promise((resolve, reject) => {
        const outgoing = request(url + row, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
          response.on('end', () => resolve(text))
        })
        outgoing.on('error', reject)
        outgoing.end()
      }),
    verify: (text) => expectEqual((JSON.parse(text) as { status: string }).status, 'completed', 'status'),
    close: () => {
      agent.destroy()
      served.close()
    },
  }
}

/** A server in this process, whose work is what is measured. */
export interface Telling {
  readonly url: string
  readonly token: string
  /** Begins to tell of a run of n steps. */
  burst(): Promise<void> | void
  close(): unknown
}

/** Who listens is another process. A run is over when everybody there has heard all of it. */
export async function telling(server: Telling, { n, subscribers }: Setup): Promise<Prepared<string>> {
  const file = join(import.meta.dirname, 'listeners-process.ts')
  const args = [server.url, server.token, String(subscribers), String(eventsOf(n))]
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async (): Promise<string> => (await lines.next()).value ?? 'the listeners ended'
  expectEqual(await next(), 'began', 'listeners')
  return {
    steps: n,
    run: async () => {
      const heard = next()
      await server.burst()
      return heard
    },
    verify: (heard) => expectEqual(heard, 'heard', 'listeners'),
    close: async () => {
      process.off('exit', kill)
      kill()
      await server.close()
    },
  }
}
