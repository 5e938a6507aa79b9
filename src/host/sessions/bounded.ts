import type { Clock } from '../../base/clock.ts'

/** What the work gives, or the error when it has not ended in time. The work itself is not stopped by this. */
export function bounded<Value>(
  clock: Clock,
  ms: number,
  work: () => Promise<Value> | Value,
  late: () => Error,
): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    const disarm = clock.at(clock.now() + ms, () => reject(late()))
    new Promise<Value>((settle) => settle(work())).then(resolve, reject).finally(disarm)
  })
}
