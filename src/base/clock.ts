import { Sleeps } from './sleeps.ts'

/** Time arrives as an argument, so that tests can own it. */
export interface Clock {
  now(): number
  /** Calls back once at or after `at` (milliseconds since the epoch). Returns what takes the timer back. */
  at(at: number, call: () => void): () => void
  /** For how many milliseconds of this time the machine slept, as far as is known (default: not at all). */
  slept?(from: number, to: number): number
}

/** How often a wait looks at the clock again. */
const LOOK_MS = 30_000
/** How often the machine's clock looks whether the machine slept, once somebody waits for a time. */
const PULSE_MS = 5_000

const sleeps = new Sleeps(PULSE_MS)
let pulse: NodeJS.Timeout | undefined

function look(): void {
  const { user, system } = process.cpuUsage()
  sleeps.look({ time: Date.now(), worked: (user + system) / 1_000 })
}

/**
 * The machine's clock. Waits are cut into pieces: a timeout does not count the time in which the machine sleeps, knows nothing of a
 * clock that is set, and cannot hold months.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  at(at, call) {
    if (pulse === undefined) {
      look()
      pulse = setInterval(look, PULSE_MS)
      pulse.unref()
    }
    let timer: NodeJS.Timeout
    const arm = (): void => {
      const left = at - Date.now()
      timer = left > LOOK_MS ? setTimeout(arm, LOOK_MS) : setTimeout(call, Math.max(0, left))
    }
    arm()
    return () => clearTimeout(timer)
  },
  slept(from, to) {
    if (pulse !== undefined) look()
    return sleeps.within(from, to)
  },
}
