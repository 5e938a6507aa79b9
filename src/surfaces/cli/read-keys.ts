/** Keys from the terminal. Owns its raw mode: on while somebody reads, off when nobody does. */
import { emitKeypressEvents } from 'node:readline'
import type { Key } from './prompt.ts'

const readers: ((key: Key) => void)[] = []
/** What was pasted so far, while the terminal sends it. */
let pasted: string | undefined

function heard(_text: string | undefined, key: Key): void {
  if (key.name === 'paste-start') pasted = ''
  else if (pasted === undefined) readers.at(-1)?.(key)
  // Should its end never come, people can still leave.
  else if (key.name === 'paste-end' || (key.ctrl === true && key.name === 'c')) {
    const whole: Key = key.name === 'paste-end' ? { name: 'paste', sequence: pasted } : key
    pasted = undefined
    readers.at(-1)?.(whole)
  } else pasted += key.sequence ?? ''
}

/**
 * Keys one by one, until the returned function is called. Of several readers the last one hears them. What is pasted is one
 * key, `paste`, where the terminal marks it (`Screen` asks for that): a line feed in it is not Enter.
 */
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
    pasted = undefined
    stdin.setRawMode(false)
    stdin.pause()
  }
}
