/** Text that may go to a terminal, and data that may go out as JSON. Pure. */
import { stripVTControlCharacters } from 'node:util'
import { errorData, withoutStack } from '../../base/nerve-error.ts'

// Besides control characters, those that turn the direction of the text: they can make a line read as another.
// oxlint-disable-next-line no-control-regex -- finding control characters is the point
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Many lines, with nothing in them that moves the cursor or changes the terminal: values come from models and files. */
export function clean(text: string): string {
  return stripVTControlCharacters(text.replace(/\r\n/g, '\n')).replace(CONTROLS, '')
}

// What `paint` adds, and nothing else: none of these moves the cursor or hides a text.
// oxlint-disable-next-line no-control-regex -- the colours of Nerve
const PAINT = /(\u001B\[(?:0|1|2|31|32|33|36)m)/

/** The same for a text that is painted already. */
export function cleanPainted(text: string): string {
  return text
    .split(PAINT)
    .map((part, index) => (index % 2 === 1 ? part : clean(part)))
    .join('')
}

export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

/** A message of Nerve, which says whose it is. */
export function said(message: string): string {
  return message.startsWith('nerve ') ? message : `nerve: ${message}`
}

/** A value in one line, for lists. */
export function brief(value: unknown, most = 80): string {
  const text = oneLine(typeof value === 'string' ? value : (toJson(value) ?? 'undefined'))
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

/** A value for a person to read: text as it is, everything else as JSON. */
export function readable(value: unknown): string {
  return clean(typeof value === 'string' ? value : (toJson(value, 2) ?? 'undefined'))
}

/** JSON of whatever a journal can hold: maps as pairs, sets as lists, bigints as text, bytes as base64, errors as data. */
export function toJson(value: unknown, indent?: number): string | undefined {
  return JSON.stringify(value, plain, indent)
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Map) return [...(value as Map<unknown, unknown>)]
  if (value instanceof Set) return [...(value as Set<unknown>)]
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Error) return withoutStack(errorData(value))
  return value
}
