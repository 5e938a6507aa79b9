/** For commands that only watch: Ctrl-C and the like end them, and nothing else. */
import { setTimeout as delay } from 'node:timers/promises'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface Watching {
  readonly signal: AbortSignal
  /** Ends it from inside. */
  readonly leave: () => void
  /** Gives the signals of the process back. */
  readonly release: () => void
}

export function untilSignal(): Watching {
  const ended = new AbortController()
  const leave = (): void => ended.abort()
  for (const signal of SIGNALS) process.on(signal, leave)
  const release = (): void => {
    for (const signal of SIGNALS) process.off(signal, leave)
  }
  return { signal: ended.signal, leave, release }
}

/** A moment, or less when it ends. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** What it comes to; undefined when it ends before. A host may take its time to answer, and nobody has to wait for that. */
export async function unlessEnded<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const ended = Promise.withResolvers<undefined>()
  const end = (): void => ended.resolve(undefined)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  try {
    return await Promise.race([work, ended.promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
