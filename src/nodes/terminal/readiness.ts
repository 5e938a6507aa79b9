/**
 * When is a terminal ready for the next input? The rules, best first: marks of the shell, the paste mode of a program
 * that reads lines, what the kernel says of the program in the foreground, lines that do not change, the end of patience.
 */
import { lookAtForeground } from './foreground.ts'
import type { LiveTerminal } from './live-terminal.ts'
import type { ReadyRule } from './terminal-result.ts'

export interface ReadyWish {
  readonly timeoutMs: number
  readonly pattern?: RegExp | undefined
  readonly signal?: AbortSignal | undefined
}

const LOOK_MS = 50
/** Quiet for this long before the kernel is asked, and asked twice: a program between two lines may look idle. */
const QUIET_MS = 150
/** What has been quiet for this long is looked at less often. */
const LONG_MS = 5_000
const STABLE_MS = 750
const PATTERN_MS = 100
const TAIL_LINES = 8
/** How often a pane that is only looked at must have been the same. */
const LOOKS = 2

/** Which rule said first that the terminal waits for input, from now on. Rejects with the reason when it is aborted. */
export function untilReady(live: LiveTerminal, { timeoutMs, pattern, signal }: ReadyWish): Promise<ReadyRule> {
  const { promise, resolve, reject } = Promise.withResolvers<ReadyRule>()
  const timed = new TimedRules(live, pattern)
  const check = (looking: boolean): void => {
    if (live.failure !== undefined) return reject(live.failure)
    const rule = live.ended === undefined ? atOnce(live) : 'exit'
    const found = rule ?? (looking ? timed.look() : undefined)
    if (found !== undefined) resolve(found)
  }
  const abort = (): void => reject(signal?.reason)
  const forget = live.onChange(() => check(false))
  const looks = setInterval(() => check(true), LOOK_MS)
  const late = Number.isFinite(timeoutMs) ? setTimeout(() => resolve('timeout'), timeoutMs) : undefined
  signal?.addEventListener('abort', abort)
  if (signal?.aborted === true) abort()
  else check(false)
  return promise.finally(() => {
    forget()
    clearInterval(looks)
    clearTimeout(late)
    signal?.removeEventListener('abort', abort)
  })
}

function atOnce({ marked, phase }: LiveTerminal): ReadyRule | undefined {
  return marked && (phase === 'ready' || phase === 'continuation') ? 'marks' : undefined
}

/** The rules that need time. */
class TimedRules {
  readonly #live: LiveTerminal
  readonly #pattern: RegExp | undefined
  readonly #began = performance.now()
  #waiting = 0
  #looks = 0
  #seen = ''
  readonly #pasteTurns: number
  #since = performance.now()
  #sinceLook: number

  constructor(live: LiveTerminal, pattern: RegExp | undefined) {
    this.#live = live
    this.#pattern = pattern
    this.#pasteTurns = live.pasteTurns
    this.#sinceLook = live.process.looks?.() ?? 0
  }

  look(): ReadyRule | undefined {
    const { marked, phase, printedAt, process } = this.#live
    // The marks will come: the shell is between two of them.
    if (marked && phase !== 'running') return undefined
    const now = performance.now()
    const quiet = now - Math.max(printedAt, this.#began)
    this.#looks += 1
    if (quiet > LONG_MS && this.#looks % 10 !== 0) return undefined
    const foreground = quiet < LOOK_MS ? 'busy' : process.pid === undefined ? 'unknown' : lookAtForeground(process.pid)
    this.#waiting = foreground === 'waiting' && quiet >= QUIET_MS ? this.#waiting + 1 : 0
    if (quiet >= LOOK_MS && foreground !== 'busy' && this.#pastes()) return 'paste'
    if (this.#waiting > 1) return 'kernel'
    return this.#stable(now, foreground === 'unknown' && !marked) ? 'stable' : undefined
  }

  /** Said since the last input, by a program that does not draw a screen. What only was printed, by `cat`, is not believed:
   *  the kernel must not know better. */
  #pastes(): boolean {
    const { bracketed, pasteTurns, transcript } = this.#live
    return bracketed && pasteTurns > this.#pasteTurns && !transcript.alternate
  }

  /** Lines that stay the same, and either look like a prompt or belong to a program of which nothing else is known. */
  #stable(now: number, otherwiseUnknown: boolean): boolean {
    const tail = this.#live.transcript.tail(TAIL_LINES)
    const masked = mask(tail)
    if (masked !== this.#seen) {
      this.#seen = masked
      this.#since = now
      this.#sinceLook = this.#live.process.looks?.() ?? 0
    }
    if (!this.#lookedAt()) return false
    const still = now - this.#since
    // The prompt before this one would match too: something new must be there.
    if (this.#pattern !== undefined)
      return this.#live.printedAt > this.#began && still >= PATTERN_MS && this.#pattern.test(lastLine(tail))
    return otherwiseUnknown && still >= STABLE_MS
  }

  /** What is only looked at now and then is not still because nobody has looked. */
  #lookedAt(): boolean {
    const { looks } = this.#live.process
    return looks === undefined || looks() >= this.#sinceLook + LOOKS
  }
}

/** Spinners and clocks change for ever; they are no news. */
function mask(text: string): string {
  return text.replace(/[\u2800-\u28ff\u25d0-\u25d3|/\\-]/g, '·').replace(/\d+/g, '0')
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1)
}
