/** Numbers the parts of a reply as a stream brings them: one at a time, each opened by its first piece and closed by the next part. */
import type { ModelPart, ReplyEvent } from '../exchange.ts'

export interface PartStream {
  /** The key of the part that is open. */
  readonly open: string | undefined
  /** Makes the part with this key the open one. */
  enter(key: string, part: () => ModelPart): readonly ReplyEvent[]
  /** Pieces of the open part. */
  text(text: string): readonly ReplyEvent[]
  thinking(text: string): readonly ReplyEvent[]
  signature(signature: string): readonly ReplyEvent[]
  input(json: string): readonly ReplyEvent[]
  leave(): readonly ReplyEvent[]
}

export function partStream(): PartStream {
  let at = -1
  let open: string | undefined
  const leave = (): readonly ReplyEvent[] => {
    if (open === undefined) return []
    open = undefined
    return [{ type: 'part-end', at }]
  }
  // A stream that is not in order has pieces that belong nowhere.
  const isNothing = (piece: string): boolean => piece === '' || open === undefined
  return {
    get open() {
      return open
    },
    enter: (key, part) => {
      if (open === key) return []
      const left = leave()
      open = key
      at += 1
      return [...left, { type: 'part', at, part: part() }]
    },
    text: (text) => (isNothing(text) ? [] : [{ type: 'text', at, text }]),
    thinking: (text) => (isNothing(text) ? [] : [{ type: 'thinking', at, text }]),
    signature: (signature) => (isNothing(signature) ? [] : [{ type: 'signature', at, signature }]),
    input: (json) => (isNothing(json) ? [] : [{ type: 'input', at, json }]),
    leave,
  }
}
