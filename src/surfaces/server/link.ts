/** A way out to one client that never holds more for it than it should: who does not read is waited for, and then let go. */
import type { Duplex, Writable } from 'node:stream'

export interface Link {
  /** Resolves when there is room for more. What is sent on a link that is over goes nowhere. */
  send(text: string): Promise<void>
  /** Until when there is no room for more; undefined when there is. */
  full(): Promise<void> | undefined
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
    full: () => room,
    close: () => void stream.end(),
  }
}

/** How long a client has to take a last word, and to go. */
const LAST_WORD_MS = 1_000

/** Ends a connection with a last word. Who stays is put out, so that nobody keeps a connection by not closing it. */
export function endSoon(socket: Duplex, text = ''): void {
  const late = setTimeout(() => socket.destroy(), LAST_WORD_MS)
  socket.once('close', () => clearTimeout(late))
  // What is still coming is read: otherwise the word might not arrive.
  socket.resume().end(text)
}
