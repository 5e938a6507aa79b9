/** Loaded into a daemon before everything else (`--import`): it tells whoever has started it how much memory it takes. */
import { setTimeout as delay } from 'node:timers/promises'

let peak = 0
setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 100).unref()

process.on('message', (wanted) => {
  if (wanted === 'memory') void tell()
})

async function tell(): Promise<void> {
  // Twice: what the first finds unreachable may hold on to more by finalizers.
  for (let i = 0; i < 2; i += 1) {
    globalThis.gc?.()
    await delay(20)
  }
  const { heapUsed, rss } = process.memoryUsage()
  process.send?.({ heapUsed, rss, peak })
}
