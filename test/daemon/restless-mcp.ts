/** `nerve mcp` under the official client, killed and started again and again while it waits for a run. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { stdioClient } from '../mcp/stdio-client.ts'
import { dataOf } from '../mcp/surface-under-test.ts'
import type { Restless } from './restless-clients.ts'
import type { Stage } from './stage.ts'

export function mcpWaiter(
  { dir }: Stage,
  { run, output, chance }: { readonly run: string; readonly output: unknown; readonly chance: () => number },
): Restless {
  const answers: Record<string, unknown>[] = []
  let visits = 0
  let patience = 500
  const visit = async (): Promise<void> => {
    visits += 1
    const { client, transport } = stdioClient(dir)
    const kill = (): void => void (transport.pid !== null && process.kill(transport.pid, 'SIGKILL'))
    const timer = setTimeout(kill, patience + chance() * 1_000)
    // On a machine that has much to do, it may not have come to an answer: then it gets longer.
    patience *= 2
    try {
      await client.connect(transport)
      answers.push(dataOf(await client.callTool({ name: 'runs_wait', arguments: { run, until: 'end', timeout: 200 } })))
      patience = 500
      // Killed in the middle of this one.
      answers.push(
        dataOf(await client.callTool({ name: 'runs_wait', arguments: { run, until: 'end', timeout: 60_000 } })),
      )
    } catch {
      // Killed.
    } finally {
      clearTimeout(timer)
      await client.close()
    }
  }
  const coming = (async () => {
    for (; answers.at(-1)?.['ended'] !== true; await delay(20)) await visit()
  })()
  return {
    name: 'nerve mcp',
    visits: () => visits,
    finish: () => coming,
    expectRight: () => {
      const ends = answers.filter(({ ended }) => ended === true)
      expect(ends.at(-1)).toMatchObject({ run, status: 'completed', output })
      expect(answers.length - ends.length).toBe(answers.findIndex(({ ended }) => ended === true))
    },
  }
}
