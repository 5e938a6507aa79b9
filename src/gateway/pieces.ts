/** Cuts long pieces of a reply into shorter ones, as a model would send them. */
import type { ReplyEvent } from './exchange.ts'

const DEFAULT_LENGTH = 24

export function* inPieces(events: Iterable<ReplyEvent>, length = DEFAULT_LENGTH): Generator<ReplyEvent> {
  for (const event of events) {
    if (event.type === 'text' || event.type === 'thinking')
      for (const text of cut(event.text, length)) yield { ...event, text }
    else if (event.type === 'input') for (const json of cut(event.json, length)) yield { ...event, json }
    else yield event
  }
}

function* cut(text: string, length: number): Generator<string> {
  for (let from = 0; from < text.length;) {
    let to = from + length
    const last = text.charCodeAt(to - 1)
    // Half of a pair of surrogates is no character.
    if (to < text.length && last >= 0xd8_00 && last <= 0xdb_ff) to += 1
    yield text.slice(from, to)
    from = to
  }
}
