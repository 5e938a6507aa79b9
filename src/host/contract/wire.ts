/**
 * How the contract looks on the wire, for both ends of it. Loads neither schemas nor anything of Node, so that it can be
 * used in a browser.
 *
 * The line protocol is one JSON value per line (on a WebSocket, per message):
 *
 *     {"id":1,"call":"runs.list","input":{}}      ->  {"id":1,"result":[…]}   or  {"id":1,"error":{…}}
 *     {"id":2,"feed":"events","input":{…}}        ->  {"id":2,"item":{…},"cursor":"17"} …  {"id":2,"end":true}
 *     {"id":2,"stop":true}                        ->  {"id":2,"end":true}
 *     {"token":"…"}                               ->  {"result":{"scope":"control"}}     first, where a token is needed
 *     {"via":"cli"}                               ->  {"result":{"via":"cli"}}           where none is: what the journal calls this way
 */
import { NerveError, errorData, errorFrom, withoutStack, type ErrorData } from '../../base/nerve-error.ts'
import { decodeValue, encodeValue, isPlainValue } from '../../base/value.ts'

/** Whatever the caller likes to tell its requests apart by. */
export type FrameId = string | number

export interface Request {
  readonly id?: FrameId
  readonly call?: string
  readonly feed?: string
  readonly input?: unknown
  readonly stop?: true
  readonly token?: string
  readonly via?: string
}

export interface Reply {
  readonly id?: FrameId
  readonly result?: unknown
  readonly error?: ErrorData
  readonly item?: unknown
  readonly cursor?: string
  readonly end?: true
}

/** Values that JSON lacks (dates, maps, bytes …) are tagged with `$nerve`, as in journals. */
export function encode(value: unknown): string {
  const { text = 'null', tagged } = encodeValue(value, 'The answer')
  // An error that a step returned has its stack in the journal, and nowhere else.
  return tagged && text.includes('"$nerve":"error"') ? JSON.stringify(JSON.parse(text, shownTag)) : text
}

function shownTag(_key: string, one: unknown): unknown {
  const { $nerve: tag, v } = (one ?? {}) as { readonly $nerve?: unknown; readonly v?: unknown }
  return tag === 'error' ? { $nerve: tag, v: withoutStack(v as ErrorData) } : one
}

export function decode(text: string): unknown {
  return decodeValue(text, text.includes('"$nerve"'))
}

/** What a client sends has to be JSON: nothing is changed silently on the way. */
export function encodeInput(input: unknown, name: string): string {
  if (input === undefined) return '{}'
  if (isPlainValue(input)) return JSON.stringify(input)
  throw new NerveError('bad-input', `The input of ${name} is not plain JSON.`)
}

/** Where a command, query or feed is over HTTP: `runs.start` is at /v1/runs/start. */
export function pathOf(name: string): string {
  return `/v1/${name.replaceAll('.', '/')}`
}

export function nameAt(path: string): string | undefined {
  return path.startsWith('/v1/') ? path.slice('/v1/'.length).replaceAll('/', '.') : undefined
}

/** An error as callers see it: what is wrong and what to do, and nothing of how the code is made. */
export function errorOnWire(error: unknown): ErrorData {
  return withoutStack(errorData(error))
}

export function errorOffWire(error: ErrorData): Error {
  return errorFrom(error)
}
