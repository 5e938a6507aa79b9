/** Reads fields of foreign JSON. What does not fit is refused with the field's name, as a client of the format knows it. */
import { NerveError } from '../../base/nerve-error.ts'

export type Fields = Readonly<Record<string, unknown>>

export function refuse(field: string, problem: string): never {
  throw new NerveError('bad-input', `${field}: ${problem}`, { data: { field } })
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fieldsOf(value: unknown, field: string): Fields {
  return isFields(value) ? value : refuse(field, 'must be an object')
}

/** The object, or an empty one where there is none. For what a provider sent, which is taken as it comes. */
export function looseFields(value: unknown): Fields {
  return isFields(value) ? value : {}
}

export function listOf(value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? (value as readonly unknown[]) : refuse(field, 'must be a list')
}

export function looseList(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

export function textOf(value: unknown, field: string): string {
  return typeof value === 'string' ? value : refuse(field, value === undefined ? 'is missing' : 'must be a text')
}

export function looseText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function numberIn(fields: Fields, name: string, at = name): number | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined) return undefined
  return typeof value === 'number' && Number.isFinite(value) ? value : refuse(at, 'must be a number')
}

export function textIn(fields: Fields, name: string, at = name): string | undefined {
  const value = fields[name] ?? undefined
  return value === undefined ? undefined : textOf(value, at)
}

export function flagIn(fields: Fields, name: string, at = name): boolean | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined) return undefined
  return typeof value === 'boolean' ? value : refuse(at, 'must be true or false')
}

export function textsIn(fields: Fields, name: string, at = name): readonly string[] | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined) return undefined
  return listOf(value, at).map((one, index) => textOf(one, `${at}.${index}`))
}

export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

type Present<Value> = { [Key in keyof Value]: Exclude<Value[Key], undefined> }

/** The object without its undefined fields, so that absent and undefined are the same everywhere. */
export function present<Value extends object>(value: Value): Partial<Present<Value>> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Partial<Present<Value>>
}

/** Names of the fields that are set and would be lost. `false` and 0 ask for nothing. */
export function setFields(fields: Fields, names: readonly string[]): readonly string[] {
  return names.filter((name) => {
    const value = fields[name]
    return Boolean(value) && !(Array.isArray(value) && value.length === 0)
  })
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
