/** Waiting that ends early when it has become pointless. */
import type { Clock } from '../base/clock.ts'

/** Resolves after so many milliseconds; rejects with the signal's reason when that comes first. */
export function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const stop = (): void => {
      disarm()
      reject(signal.reason as Error)
    }
    const disarm = clock.at(clock.now() + ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    signal.addEventListener('abort', stop, { once: true })
  })
}
