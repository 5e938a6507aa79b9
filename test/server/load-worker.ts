/** A server in a process of its own, with a real database, that tells how much memory it takes. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createHost, workflow } from 'nerve'
import { createService, openTokens, startServer } from 'nerve/server'

const [dir = ''] = process.argv.slice(2)

/** Is under way for a while, so that many of it are under way at once. */
const steady = workflow('steady', async (ctx, { steps, ms }: { steps: number; ms: number }) => {
  for (let i = 0; i < steps; i += 1) await ctx.step(`step-${i}`, () => (ms === 0 ? i : delay(ms, i)))
  return steps
})

const problems: string[] = []
const onProblem = (error: unknown): void => void problems.push(String(error))
const host = await createHost({ dir, definitions: [steady], onProblem })
const service = createService(host, { onProblem })
mkdirSync(join(dir, 'run'), { mode: 0o700 })
const tokens = openTokens(join(dir, 'run', 'tokens.json'))
const server = await startServer({
  service,
  socket: join(dir, 'run', 'nerve.sock'),
  tcp: { port: 0 },
  tokens,
  rate: { burst: 1_000_000, perSecond: 1_000_000 },
  onProblem,
})

let peak = 0
setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 100).unref()

process.on('message', (wanted) => {
  if (wanted === 'stop') void stop()
  else if (wanted === 'memory') void tellMemory()
})
process.on('disconnect', () => process.exit())
process.send?.({ url: server.url, socket: server.socket, token: tokens.list()[0]?.secret })

async function tellMemory(): Promise<void> {
  // Twice: what the first finds unreachable may hold on to more by finalizers.
  for (let i = 0; i < 2; i += 1) {
    globalThis.gc?.()
    await delay(20)
  }
  const { heapUsed, rss, external } = process.memoryUsage()
  process.send?.({ heapUsed, rss, external, peak, cpu: process.cpuUsage(), problems })
}

async function stop(): Promise<void> {
  await server.close()
  await host.close()
  process.exit()
}
