/** An item of a feed as it is sent. Many clients read the same events: each is made into text, and into bytes, once. */
import { encode } from '../../host/contract/wire.ts'

const texts = new WeakMap<object, string>()

export function itemText(item: object): string {
  const there = texts.get(item)
  if (there !== undefined) return there
  const text = encode(item)
  texts.set(item, text)
  return text
}

const events = new WeakMap<object, { readonly cursor: string | undefined; readonly bytes: Uint8Array }>()

/** The item as a server-sent event. Readers who have come equally far have the same cursor, and share the bytes. */
export function itemEvent(item: object, cursor: string | undefined): Uint8Array {
  const there = events.get(item)
  if (there !== undefined && there.cursor === cursor) return there.bytes
  const bytes = Buffer.from(`${cursor === undefined ? '' : `id: ${cursor}\n`}data: ${itemText(item)}\n\n`)
  events.set(item, { cursor, bytes })
  return bytes
}
