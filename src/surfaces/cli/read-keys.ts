/** Keys from the terminal. Owns its raw mode: on while somebody reads, off when nobody does. */
import { emitKeypressEvents } from 'node:readline'
import type { Key } from './prompt.ts'

const readers: ((key: Key) => void)[] = []
const heard = (_text: string | undefined, key: Key): void => readers.at(-1)?.(key)

/** Keys one by one, until the returned function is called. Of several readers the last one hears them. */
export function readKeys(onKey: (key: Key) => void): () => void {
  const { stdin } = process
  readers.push(onKey)
  if (readers.length === 1) {
    emitKeypressEvents(stdin)
    stdin.on('keypress', heard)
    stdin.setRawMode(true)
    stdin.resume()
  }
  return () => {
    const at = readers.indexOf(onKey)
    if (at !== -1) readers.splice(at, 1)
    if (readers.length > 0 || at === -1) return
    stdin.off('keypress', heard)
    stdin.setRawMode(false)
    stdin.pause()
  }
}
