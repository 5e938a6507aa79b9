/** The official client of MCP, cut off and back again and again while it waits for a run: with `nerve mcp`, and over HTTP with a token. */
import { StreamableHTTPClientTransport, type Client, type Transport } from '@modelcontextprotocol/client'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { stdioClient } from '../mcp/stdio-client.ts'
import { dataOf, officialClient } from '../mcp/surface-under-test.ts'
import type { Restless } from './restless-clients.ts'
import type { Doors } from './restless-kinds.ts'
import type { Stage } from './stage.ts'

/** While there is no daemon, a visit over HTTP is over at once. */
const LONGEST_MS = 20_000

/** One that is not connected yet, and what cuts it off. */
interface Opened {
  readonly client: Client
  readonly transport: Transport
  readonly cut: () => void
}

export interface McpWait {
  readonly run: string
  readonly output: unknown
  readonly chance: () => number
}

/** `nerve mcp` as a process, which is killed. */
export function stdioWaiter({ dir }: Stage, wait: McpWait): Restless {
  return mcpWaiter('nerve mcp', wait, () => {
    const { client, transport } = stdioClient(dir)
    return { client, transport, cut: () => void (transport.pid !== null && process.kill(transport.pid, 'SIGKILL')) }
  })
}

/** The daemon itself, at its port. */
export function httpWaiter({ url, token }: Doors, wait: McpWait): Restless {
  return mcpWaiter('MCP over HTTP', wait, () => {
    const { client } = officialClient({ era: 'today' })
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    const transport = new StreamableHTTPClientTransport(new URL(`${url()}/mcp`), { requestInit })
    return { client, transport, cut: () => void transport.close() }
  })
}

function mcpWaiter(name: string, { run, output, chance }: McpWait, open: () => Opened): Restless {
  const answers: Record<string, unknown>[] = []
  let visits = 0
  let patience = 500
  const visit = async (): Promise<void> => {
    visits += 1
    const { client, transport, cut } = open()
    const timer = setTimeout(cut, patience + chance() * 1_000)
    // On a machine that has much to do, it may not have come to an answer: then it gets longer.
    patience = Math.min(patience * 2, LONGEST_MS)
    try {
      await client.connect(transport)
      answers.push(dataOf(await client.callTool({ name: 'runs_wait', arguments: { run, until: 'end', timeout: 200 } })))
      patience = 500
      // Cut off in the middle of this one.
      answers.push(
        dataOf(await client.callTool({ name: 'runs_wait', arguments: { run, until: 'end', timeout: 60_000 } })),
      )
    } catch {
      // Cut off.
    } finally {
      clearTimeout(timer)
      await client.close()
    }
  }
  const coming = (async () => {
    for (; answers.at(-1)?.['ended'] !== true; await delay(20)) await visit()
  })()
  return {
    name,
    visits: () => visits,
    finish: () => coming,
    expectRight: () => {
      const ends = answers.filter(({ ended }) => ended === true)
      expect(ends.at(-1)).toMatchObject({ run, status: 'completed', output })
      expect(answers.length - ends.length).toBe(answers.findIndex(({ ended }) => ended === true))
    },
  }
}
