/**
 * A model on loopback that says what the last prompt tells it to: a pure function of the conversation, so that retries,
 * resumed conversations and copies need nothing of it.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * One answer of the model: a text (`{last}`: what the last tool gave, `{prompts}`: how many prompts there were), a text whose
 * end never comes, a tool, an error.
 */
export type Act =
  | { readonly say: string }
  | { readonly drawl: string }
  | { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }
  | { readonly fail: number }

interface Block {
  readonly type: string
  readonly text?: string
  readonly content?: string | readonly Block[]
}

interface Message {
  readonly role: string
  readonly content: string | readonly Block[]
}

const MARK = 'SCRIPT '

/** A prompt that makes the model do this, one after the other. */
export function script(...acts: readonly Act[]): string {
  return `${MARK}${JSON.stringify(acts)}`
}

export interface ScriptedModel {
  readonly url: string
  /** How many streams were begun that do not end by themselves, and how many ended before they were whole. */
  readonly drawls: () => number
  readonly cut: () => number
}

export async function openModel(): Promise<ScriptedModel> {
  let cut = 0
  let drawls = 0
  const server = createServer((request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) cut += 1
    })
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => {
      body += piece
    })
    request.on('end', () => answer({ url: request.url ?? '', body, response, onDrawl: () => (drawls += 1) }))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, drawls: () => drawls, cut: () => cut }
}

interface Asked {
  readonly url: string
  readonly body: string
  readonly response: ServerResponse
  readonly onDrawl: () => void
}

function answer({ url, body, response, onDrawl }: Asked): void {
  if (url.includes('count_tokens')) return json(response, 200, { input_tokens: 10 })
  if (!url.includes('/messages')) return json(response, 200, {})
  const { messages, stream, tools } = JSON.parse(body) as {
    messages: readonly Message[]
    stream?: boolean
    tools?: readonly unknown[]
  }
  const act = tools === undefined || tools.length === 0 ? { say: 'A title' } : nextAct(messages)
  if ('fail' in act) return json(response, act.fail, { type: 'error', error: { type: 'x', message: 'It may not.' } })
  const block =
    'tool' in act
      ? { type: 'tool_use', id: `toolu_${messages.length}${Date.now()}`, name: act.tool, input: act.input }
      : { type: 'text', text: filled('say' in act ? act.say : act.drawl, messages) }
  const head = { id: `msg_${Date.now()}`, type: 'message', role: 'assistant', model: 'scripted', stop_sequence: null }
  const stopped = { stop_reason: 'tool' in act ? 'tool_use' : 'end_turn' }
  const usage = { input_tokens: 100, output_tokens: 10 }
  if (stream !== true) return json(response, 200, { ...head, ...stopped, content: [block], usage })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (type: string, data: object): void =>
    void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  const empty = 'tool' in act ? { ...block, input: {} } : { type: 'text', text: '' }
  send('message_start', { message: { ...head, stop_reason: null, content: [], usage } })
  send('content_block_start', { index: 0, content_block: empty })
  const end = (): void => {
    send('content_block_stop', { index: 0 })
    send('message_delta', { delta: { ...stopped, stop_sequence: null }, usage })
    send('message_stop', {})
    response.end()
  }
  const piece = 'tool' in act ? { type: 'input_json_delta', partial_json: JSON.stringify(act.input) } : undefined
  send('content_block_delta', { index: 0, delta: piece ?? { type: 'text_delta', text: block.text } })
  if ('drawl' in act) onDrawl()
  else end()
}

function nextAct(messages: readonly Message[]): Act {
  const at = messages.findLastIndex((message) => message.role === 'user' && textOf(message).includes(MARK))
  if (at === -1) return { say: 'There is no script.' }
  const text = textOf(messages[at] as Message)
  const acts = JSON.parse(text.slice(text.lastIndexOf(MARK) + MARK.length).split('\n')[0] ?? '') as readonly Act[]
  const done = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length
  return acts[done] ?? { say: 'The script has ended.' }
}

function filled(text: string, messages: readonly Message[]): string {
  const prompts = messages.filter((message) => message.role === 'user' && textOf(message).includes(MARK)).length
  const results = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter(({ type }) => type === 'tool_result'),
  )
  const last = results.at(-1)?.content ?? ''
  const given = typeof last === 'string' ? last : last.map((block) => block.text ?? '').join('')
  return text.replaceAll('{prompts}', String(prompts)).replaceAll('{last}', given.trim())
}

/** What the person typed; what Claude Code adds for the model is in blocks of their own. */
function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return content.map(({ text }) => (text?.includes(MARK) === true ? text : '')).join('')
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
