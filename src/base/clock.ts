/** Time arrives as an argument, so that tests can own it. */
export interface Clock {
  now(): number
  /** Calls back once at or after `at` (milliseconds since the epoch). Returns what takes the timer back. */
  at(at: number, call: () => void): () => void
}

const LONGEST_TIMEOUT = 2_147_483_647

/** The machine's clock. Waits of months are cut into pieces, because one timeout cannot hold them. */
export const systemClock: Clock = {
  now: () => Date.now(),
  at(at, call) {
    let timer: NodeJS.Timeout
    const arm = (): void => {
      const left = at - Date.now()
      timer = left > LONGEST_TIMEOUT ? setTimeout(arm, LONGEST_TIMEOUT) : setTimeout(call, Math.max(0, left))
    }
    arm()
    return () => clearTimeout(timer)
  },
}
