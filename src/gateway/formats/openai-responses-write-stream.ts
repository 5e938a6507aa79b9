/** Writes streams of OpenAI's Responses format. Each part is one item, told whole again at its end and at the end of all. */
import type { ModelPart, ModelRequest, ReplyEvent, TextPart, ThinkingPart, ToolCallPart } from '../exchange.ts'
import { looseFields, looseText, parseJson, type Fields } from './fields.ts'
import type { StreamWriter } from './format.ts'
import { callShape, itemId, writeOutputItem, writeOutputText } from './openai-responses-items.ts'
import { isRefusal, writeResponse, writeResponsesUsage, writeStatus } from './openai-responses-reply.ts'
import { BAD_PROMPT, writeOpenaiError } from './openai-words.ts'
import { sseFrame } from './sse.ts'
import { inputText } from './turns.ts'

interface Item {
  part: ModelPart
  readonly id: string
  /** Its number among the parts, for its id, and among the items. */
  readonly index: number
  readonly output: number
  /** What came in pieces. */
  text: string
  signature: string
}

interface Writing {
  readonly request: ModelRequest
  response: Fields
  reply: string
  readonly output: Fields[]
  refused: boolean
  item: Item | undefined
  readonly send: (type: string, more: Fields) => string
}

export function writeResponsesStream(request: ModelRequest): StreamWriter {
  let sequence = 0
  const send = (type: string, more: Fields): string => sseFrame({ type, sequence_number: sequence++, ...more }, type)
  const state: Writing = { request, response: {}, reply: '', output: [], refused: false, item: undefined, send }
  return (event) => {
    switch (event.type) {
      case 'start':
        state.response = writeResponse(event, request)
        state.reply = event.id
        return ['created', 'in_progress'].map((word) => send(`response.${word}`, { response: state.response })).join('')
      case 'part':
        return openItem(event.part, event.at, state)
      case 'part-end':
        return state.item === undefined ? '' : closeItem(state.item, state)
      case 'end':
        return writeEnd(event, state)
      case 'failed':
        return writeFailed(event, state)
      default:
        return state.item === undefined ? '' : writePiece(event, state.item, state)
    }
  }
}

function writeEnd({ stop, usage }: Extract<ReplyEvent, { type: 'end' }>, state: Writing): string {
  const status = writeStatus(stop, state.refused)
  const response = { ...state.response, ...status, output: state.output, usage: writeResponsesUsage(usage) }
  return state.send(`response.${String(status['status'])}`, { response })
}

function writeFailed({ failure }: Extract<ReplyEvent, { type: 'failed' }>, state: Writing): string {
  const { code, message } = writeOpenaiError(failure)
  const error = { code: code ?? BAD_PROMPT, message }
  return state.send('response.failed', {
    response: { ...state.response, status: 'failed', output: state.output, error },
  })
}

/** Where an event belongs. */
function place({ id, output }: Item): Fields {
  return { item_id: id, output_index: output }
}

function openItem(part: ModelPart, index: number, state: Writing): string {
  const { request, reply, send } = state
  const whole = writeOutputItem(part, { reply, index }, request.tools)
  state.item = undefined
  if (whole === undefined) return ''
  const item: Item = {
    part,
    id: looseText(whole['id']) || itemId('item', reply, index),
    index,
    output: state.output.length,
    text: '',
    signature: '',
  }
  state.item = item
  state.refused ||= isRefusal(part)
  const added = (opening: Fields): string =>
    send('response.output_item.added', { output_index: item.output, item: opening })
  if (part.type === 'text') {
    const opened = added({ ...whole, status: 'in_progress', content: [] })
    return (
      opened + send('response.content_part.added', { ...place(item), content_index: 0, part: writeOutputText(part) })
    )
  }
  if (part.type === 'thinking') return added({ type: 'reasoning', id: item.id, summary: [] })
  if (part.type !== 'tool-call') return added(whole)
  const { freeform, head } = callShape(part, request.tools)
  return added({ ...head, ...(freeform ? { input: '' } : { arguments: '' }), id: item.id, status: 'in_progress' })
}

type Piece = Exclude<ReplyEvent, { type: 'start' | 'part' | 'part-end' | 'end' | 'failed' }>

function writePiece(event: Piece, item: Item, { send, request }: Writing): string {
  const { part } = item
  switch (event.type) {
    case 'text': {
      item.text += event.text
      const type = isRefusal(part) ? 'response.refusal.delta' : 'response.output_text.delta'
      const more = isRefusal(part) ? {} : { logprobs: [] }
      return send(type, { ...place(item), content_index: 0, delta: event.text, ...more })
    }
    case 'thinking': {
      const added = item.text === '' ? openSummary(item, send) : ''
      item.text += event.text
      return (
        added + send('response.reasoning_summary_text.delta', { ...place(item), summary_index: 0, delta: event.text })
      )
    }
    case 'signature':
      item.signature += event.signature
      return ''
    case 'input':
      item.text += event.json
      if (part.type !== 'tool-call' || callShape(part, request.tools).freeform) return ''
      return send('response.function_call_arguments.delta', { ...place(item), delta: event.json })
    default:
      return event satisfies never
  }
}

function openSummary(item: Item, send: Writing['send']): string {
  const part = { type: 'summary_text', text: '' }
  return send('response.reasoning_summary_part.added', { ...place(item), summary_index: 0, part })
}

function closeItem(item: Item, state: Writing): string {
  const { send, request, reply } = state
  const done = completed(item)
  const whole = { ...writeOutputItem(done, { reply, index: item.index }, request.tools) }
  state.item = undefined
  state.output.push(whole)
  // Events are numbered as they are made: what belongs to the item comes before its end.
  const rest = closePieces(done, whole, item, state)
  return rest + send('response.output_item.done', { output_index: item.output, item: whole })
}

function closePieces(part: ModelPart, whole: Fields, item: Item, state: Writing): string {
  if (part.type === 'text') return closeText(part, item, state.send)
  if (part.type === 'thinking') return closeThought(part, item, state.send)
  return part.type === 'tool-call' ? closeCall(part, whole, item, state) : ''
}

/** The part with all that came in pieces. */
function completed({ part, text, signature }: Item): ModelPart {
  if (part.type === 'text') return { ...part, text: part.text + text }
  if (part.type === 'thinking') return { ...part, text: part.text + text, ...(signature === '' ? {} : { signature }) }
  if (part.type !== 'tool-call' || text === '') return part
  return { ...part, input: parseJson(text) ?? text }
}

function closeText(part: TextPart, item: Item, send: Writing['send']): string {
  const at = { ...place(item), content_index: 0 }
  const text = isRefusal(part)
    ? send('response.refusal.done', { ...at, refusal: part.text })
    : send('response.output_text.done', { ...at, text: part.text, logprobs: [] })
  return text + send('response.content_part.done', { ...at, part: writeOutputText(part) })
}

function closeThought({ text }: ThinkingPart, item: Item, send: Writing['send']): string {
  if (text === '') return ''
  const at = { ...place(item), summary_index: 0 }
  const part = { type: 'summary_text', text }
  return (
    send('response.reasoning_summary_text.done', { ...at, text }) +
    send('response.reasoning_summary_part.done', { ...at, part })
  )
}

function closeCall(call: ToolCallPart, whole: Fields, item: Item, { send, request }: Writing): string {
  if (callShape(call, request.tools).freeform) {
    const input = inputText(looseFields(whole)['input'])
    const delta = send('response.custom_tool_call_input.delta', { ...place(item), delta: input })
    return delta + send('response.custom_tool_call_input.done', { ...place(item), input })
  }
  const { arguments: json, name } = whole
  const delta = item.text === '' ? send('response.function_call_arguments.delta', { ...place(item), delta: json }) : ''
  return delta + send('response.function_call_arguments.done', { ...place(item), name, arguments: json })
}
