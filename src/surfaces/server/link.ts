/** A way out to one client that never holds more for it than it should: who does not read is waited for, and then let go. */
import type { Writable } from 'node:stream'

export interface Link {
  /** Resolves when there is room for more. What is sent on a link that is over goes nowhere. */
  send(text: string): Promise<void>
  close(): void
  /** Aborts when the client is gone. */
  readonly over: AbortSignal
}

/** One that takes bytes as well: what many clients are sent is made once. */
export interface StreamLink extends Link {
  send(data: string | Uint8Array): Promise<void>
}

/** How long a client may take to make room before it is let go. It can come back, and goes on from its cursor. */
export const PATIENCE_MS = 30_000

export function streamLink(stream: Writable, patience = PATIENCE_MS): StreamLink {
  const gone = new AbortController()
  let room: Promise<void> | undefined
  stream.once('close', () => gone.abort())
  const untilRoom = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => stream.destroy(), patience)
      const done = (): void => {
        clearTimeout(timer)
        stream.off('drain', done)
        gone.signal.removeEventListener('abort', done)
        room = undefined
        resolve()
      }
      stream.once('drain', done)
      gone.signal.addEventListener('abort', done)
    })
  return {
    over: gone.signal,
    send(data) {
      if (gone.signal.aborted || stream.destroyed || stream.writableEnded) return Promise.resolve()
      if (stream.write(data)) return Promise.resolve()
      room ??= untilRoom()
      return room
    },
    close: () => void stream.end(),
  }
}
