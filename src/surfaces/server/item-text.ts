/** The text of an item of a feed. Many clients read the same events: each is made into text once. */
import { encode } from '../../host/contract/wire.ts'

const texts = new WeakMap<object, string>()

export function itemText(item: object): string {
  const there = texts.get(item)
  if (there !== undefined) return there
  const text = encode(item)
  texts.set(item, text)
  return text
}
