/** Time arrives as an argument, so that tests can own it. */
export interface Clock {
  now(): number
  /** Calls back once at or after `at` (milliseconds since the epoch). Returns what takes the timer back. */
  at(at: number, call: () => void): () => void
}

/** How often a wait looks at the clock again. */
const LOOK_MS = 30_000

/**
 * The machine's clock. Waits are cut into pieces: a timeout does not count the time in which the machine sleeps, knows nothing of a
 * clock that is set, and cannot hold months.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  at(at, call) {
    let timer: NodeJS.Timeout
    const arm = (): void => {
      const left = at - Date.now()
      timer = left > LOOK_MS ? setTimeout(arm, LOOK_MS) : setTimeout(call, Math.max(0, left))
    }
    arm()
    return () => clearTimeout(timer)
  },
}
