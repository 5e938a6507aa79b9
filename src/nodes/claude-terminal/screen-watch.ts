/** Looks at the screen of Claude Code again and again, and says what is on it, and for how long that has been so. */
import type { ParsedScreen, ScreenState } from '../parsers/parser.ts'
import type { ClaudeLife } from './claude-life.ts'

export interface Seen {
  readonly screen: ParsedScreen
  /** What is in the box for input. */
  readonly box: string
  /** How long the state is what it is, in milliseconds. */
  readonly forMs: number
}

const LOOK_MS = 100

/** Until it is told to stop. What was printed is looked at soon, and nothing is looked at twice. */
export function watchScreen(life: ClaudeLife, listener: (seen: Seen) => void): () => void {
  let printed = true
  let looking = false
  let over = false
  let since = performance.now()
  let last: { readonly screen: ParsedScreen; readonly box: string } | undefined
  const forget = life.terminal.watch(({ type }) => {
    printed ||= type === 'output'
  })
  const look = async (): Promise<void> => {
    printed = false
    const screen = await life.look()
    if (screen.state !== last?.screen.state) since = performance.now()
    last = { screen, box: boxOf(screen) }
  }
  const tick = async (): Promise<void> => {
    if (looking || life.ended) return
    looking = true
    try {
      if (printed) await look()
    } finally {
      looking = false
    }
    if (last !== undefined && !over) listener({ ...last, forMs: performance.now() - since })
  }
  // A screen that cannot be read has ended, and that is heard of in another way.
  const looks = (): void => void tick().catch(() => undefined)
  const timer = setInterval(looks, LOOK_MS)
  looks()
  return () => {
    over = true
    clearInterval(timer)
    forget()
  }
}

interface Patience {
  readonly ms: number
  /** How long it must be in that state. */
  readonly stableMs?: number
  readonly signal?: AbortSignal
}

/** Waits until the screen is in one of these states; undefined when it was not in time, or has ended. */
export async function untilScreen(
  life: ClaudeLife,
  states: readonly ScreenState[],
  { ms, stableMs = 0, signal }: Patience,
): Promise<ParsedScreen | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<ParsedScreen | undefined>()
  const late = Number.isFinite(ms) ? setTimeout(() => resolve(undefined), ms) : undefined
  const abort = (): void => reject(signal?.reason)
  const forgetEnd = life.terminal.watch(({ type }) => {
    if (type === 'state' && life.ended) resolve(undefined)
  })
  const forget = watchScreen(life, ({ screen, forMs }) => {
    if (states.includes(screen.state) && forMs >= stableMs) resolve(screen)
  })
  signal?.addEventListener('abort', abort)
  if (signal?.aborted === true) abort()
  if (life.ended) resolve(undefined)
  return promise.finally(() => {
    clearTimeout(late)
    forgetEnd()
    forget()
    signal?.removeEventListener('abort', abort)
  })
}

/** What is in the box for input. Hints for the person count too: they look the same. */
export function boxOf({ raw }: ParsedScreen): string {
  const row = raw.split('\n').findLast((line) => line.startsWith('❯'))
  return row?.slice(1).trim() ?? ''
}
