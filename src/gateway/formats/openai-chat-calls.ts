/**
 * Tool calls in a stream of Chat Completions. They come in pieces that carry the call's number, so that pieces of
 * several calls may be mixed; they are told one call after the other. The next begins when the one before is complete.
 */
import type { ReplyEvent, ToolCallPart } from '../exchange.ts'
import { count, isFields, looseFields, looseText, parseJson, type Fields } from './fields.ts'
import { readCallSignature } from './openai-chat-request.ts'
import type { PartStream } from './part-stream.ts'

export interface ChatCalls {
  readonly seen: boolean
  take(delta: Fields): void
  /** What can be told now; when `closing`, everything. */
  tell(closing: boolean): readonly ReplyEvent[]
}

interface Call {
  readonly key: string
  readonly index: number
  readonly part: ToolCallPart
  /** Pieces that are not told yet, and all the text that is. */
  pieces: string[]
  told: string
}

export function chatCalls(parts: PartStream): ChatCalls {
  const queue: Call[] = []
  let total = 0
  const tellFirst = (call: Call, closing: boolean): readonly ReplyEvent[] => {
    const events = [...parts.enter(call.key, () => call.part)]
    const freeform = call.part.freeform === true
    if (freeform && events.length > 0) events.push(...parts.input('"'))
    const text = call.pieces.join('')
    call.pieces = []
    call.told += text
    events.push(...parts.input(freeform ? JSON.stringify(text).slice(1, -1) : text))
    if (!closing && !(queue.length > 1 && (freeform || parseJson(call.told) !== undefined))) return events
    if (freeform) events.push(...parts.input('"'))
    queue.shift()
    return [...events, ...parts.leave()]
  }
  return {
    get seen() {
      return total > 0
    },
    take: (delta) => {
      const known = queue.findLast(({ index }) => index === count(delta['index']))
      const call = known !== undefined && continues(known, delta) ? known : beginCall(delta, total)
      if (call === undefined) return
      if (call !== known) {
        total += 1
        queue.push(call)
      }
      const { arguments: json, input } = looseFields(delta['function'] ?? delta['custom'])
      call.pieces.push(looseText(json ?? input))
    },
    tell: (closing) => {
      const events: ReplyEvent[] = []
      for (let first = queue[0]; first !== undefined;) {
        events.push(...tellFirst(first, closing))
        if (queue[0] === first) break
        first = queue[0]
      }
      return events
    },
  }
}

/** A few providers give every call the same number, and only the id tells them apart. */
function continues({ part }: Call, delta: Fields): boolean {
  const id = looseText(delta['id'])
  return id === '' || id === part.id
}

function beginCall(delta: Fields, serial: number): Call | undefined {
  const custom = isFields(delta['custom'])
  const name = looseText(looseFields(custom ? delta['custom'] : delta['function'])['name'])
  if (name === '') return undefined
  const id = looseText(delta['id']) || `call_${serial}`
  const freeform = custom ? ({ freeform: true } as const) : {}
  const part = { type: 'tool-call', id, name, input: {}, ...freeform, ...readCallSignature(delta) } as const
  return { key: `call ${serial}`, index: count(delta['index']), part, pieces: [], told: '' }
}
