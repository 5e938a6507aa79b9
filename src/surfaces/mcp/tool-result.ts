/** What a tool gives back: the same JSON as text for models and as data for programs. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { encode, errorOnWire } from '../../host/contract/wire.ts'

export function resultOf(value: unknown): CallToolResult {
  const text = encode(value ?? null)
  return { content: [{ type: 'text', text }], ...dataIn(text) }
}

/** The text alone is for people and models; what goes with it is data. */
export function tellingResult(text: string, value: unknown, isError: boolean): CallToolResult {
  return { content: [{ type: 'text', text }], ...dataIn(encode(value)), ...(isError ? { isError } : {}) }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : encode(value ?? null)
}

/** What went wrong, for a model that may do something about it. */
export function errorResult(error: unknown): CallToolResult {
  const shown = errorOnWire(error)
  const code = shown.code === undefined ? '' : ` (${shown.code})`
  return tellingResult(`${shown.message}${code}`, { error: shown }, true)
}

/** Data is an object in every revision of the protocol; a list is in the text. */
function dataIn(text: string): Pick<CallToolResult, 'structuredContent'> {
  const data: unknown = JSON.parse(text)
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data)
  return isObject ? { structuredContent: data } : {}
}
