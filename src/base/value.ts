/**
 * Values that cross the journal. Plain JSON goes as it is; Date, Map, Set, bigint, bytes, errors and the numbers JSON
 * lacks are tagged, so that what a step returned live and what a replay returns are the same. Anything else is refused
 * by name instead of being changed silently.
 */
import { NerveError, errorData, errorFrom, type ErrorData } from './nerve-error.ts'

const TAG = '$nerve'
const MAX_DEPTH = 512

export interface Encoded {
  /** JSON text, or undefined for the value undefined. */
  readonly text: string | undefined
  /** True when the text holds tags that decodeValue must undo. */
  readonly tagged: boolean
}

export function encodeValue(value: unknown, what: string): Encoded {
  if (value === undefined) return { text: undefined, tagged: false }
  if (isPlain(value, 0)) return { text: JSON.stringify(value), tagged: false }
  return { text: JSON.stringify(tag(value, { what, at: [], above: new Set() })), tagged: true }
}

/** Refuses what a journal cannot keep. Cheaper than encoding it. Says whether plain JSON can hold it. */
export function checkValue(value: unknown, what: string): { readonly plain: boolean } {
  if (value === undefined || isPlain(value, 0)) return { plain: true }
  tag(value, { what, at: [], above: new Set() })
  return { plain: false }
}

export function decodeValue(text: string | undefined, tagged: boolean): unknown {
  if (text === undefined) return undefined
  const value: unknown = JSON.parse(text)
  return tagged ? untag(value) : value
}

/** A short, order-independent fingerprint of a value: equal values give equal fingerprints. */
export function fingerprint(value: unknown, what: string): string {
  const { text = 'undefined' } = encodeValue(value, what)
  // Only objects have an order to forget, and this is done for every step of a graph.
  const canonical = typeof value === 'object' && value !== null ? JSON.stringify(sorted(JSON.parse(text))) : text
  return sha256(canonical).slice(0, 16)
}

/** The module is loaded when it is needed: it takes longer to load than the rest of Nerve's core. */
function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', text, 'base64url')
}

export function contentHash(text: string): string {
  return sha256(text)
}

/** True for values that JSON keeps exactly as they are. */
export function isPlainValue(value: unknown): boolean {
  return isPlain(value, 0)
}

const MOST_FIELDS = 16
const MOST_TEXT = 512

/**
 * A value that nothing can change any more, for values whose text is short for certain (under 4,000 characters): a
 * primitive, or a copy of a flat object of them. Undefined for every other value.
 */
export function smallCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return sizeOf(value) <= MOST_TEXT ? value : undefined
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined
  let fields = 0
  let text = 0
  for (const key in value) {
    fields += 1
    const item: unknown = (value as Record<string, unknown>)[key]
    text += key.length + (item === undefined ? 0 : sizeOf(item))
    if (fields > MOST_FIELDS || text > MOST_TEXT || isSpecial(key)) return undefined
  }
  return { ...value }
}

/** The characters of a primitive that JSON keeps as it is; Infinity for everything else. */
function sizeOf(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? 0 : Infinity
    case 'string':
      return value.length
    case 'boolean':
      return 0
    default:
      return value === null ? 0 : Infinity
  }
}

function isSpecial(key: string): boolean {
  return key === TAG || key === 'toJSON' || key === '__proto__'
}

function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object':
      return value === null || (depth < MAX_DEPTH && isPlainObject(value, depth))
    default:
      return false
  }
}

function isPlainObject(value: object, depth: number): boolean {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) if (!isPlain(value[i], depth + 1)) return false
    return true
  }
  const proto: unknown = Object.getPrototypeOf(value)
  if (proto !== Object.prototype && proto !== null) return false
  for (const key in value) {
    if (isSpecial(key)) return false
    const item: unknown = (value as Record<string, unknown>)[key]
    if (item !== undefined && !isPlain(item, depth + 1)) return false
  }
  return true
}

interface Place {
  readonly what: string
  readonly at: (string | number)[]
  readonly above: Set<object>
}

function tag(value: unknown, place: Place): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'undefined':
      return { [TAG]: 'undefined' }
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { [TAG]: 'number', v: Object.is(value, -0) ? '-0' : String(value) }
    case 'bigint':
      return { [TAG]: 'bigint', v: String(value) }
    case 'object':
      return value === null ? null : tagObject(value, place)
    default:
      return refuse(value, place, `a ${typeof value}`)
  }
}

function tagObject(value: object, place: Place): unknown {
  if (place.above.has(value)) return refuse(value, place, 'a reference to something that contains it')
  if (place.above.size > MAX_DEPTH) return refuse(value, place, `something nested deeper than ${MAX_DEPTH} levels`)
  place.above.add(value)
  try {
    return tagContents(value, place)
  } finally {
    place.above.delete(value)
  }
}

function tagContents(value: object, place: Place): unknown {
  // Array.from also visits holes, which map would leave out.
  if (Array.isArray(value)) return Array.from(value, (item, i) => tagAt(item, i, place))
  if (value instanceof Date) return { [TAG]: 'date', v: value.getTime() }
  if (value instanceof Map) return { [TAG]: 'map', v: [...value].map((pair, i) => tagAt(pair, i, place)) }
  if (value instanceof Set) return { [TAG]: 'set', v: [...value].map((item, i) => tagAt(item, i, place)) }
  if (value instanceof Uint8Array) return { [TAG]: 'bytes', v: Buffer.from(value).toString('base64') }
  if (value instanceof Error) return { [TAG]: 'error', v: errorData(value) }
  const proto: unknown = Object.getPrototypeOf(value)
  if (proto !== Object.prototype && proto !== null) {
    return refuse(
      value,
      place,
      `an instance of ${(value.constructor as { name?: string } | undefined)?.name ?? 'a class'}`,
    )
  }
  const pairs = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => [key, tagAt(item, key, place)] as const)
  const special = pairs.some(([key]) => isSpecial(key))
  return special ? { [TAG]: 'object', v: pairs } : Object.fromEntries(pairs)
}

function tagAt(value: unknown, key: string | number, place: Place): unknown {
  place.at.push(key)
  const tagged = tag(value, place)
  place.at.pop()
  return tagged
}

function refuse(_value: unknown, place: Place, found: string): never {
  const where = place.at.length === 0 ? '' : ` at .${place.at.join('.')}`
  throw new NerveError(
    'bad-value',
    `${place.what}${where} is ${found}, which a journal cannot keep. Return plain data (JSON, Date, Map, Set, bigint, Uint8Array).`,
  )
}

function untag(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(untag)
  if (!(TAG in value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, untag(item)]))
  const { [TAG]: kind, v } = value as { [TAG]: string; v: unknown }
  switch (kind) {
    case 'undefined':
      return undefined
    case 'number':
      return Number(v)
    case 'bigint':
      return BigInt(v as string)
    case 'date':
      return new Date(v === null ? Number.NaN : (v as number))
    case 'map':
      return new Map(untag(v) as [unknown, unknown][])
    case 'set':
      return new Set(untag(v) as unknown[])
    case 'bytes':
      return new Uint8Array(Buffer.from(v as string, 'base64'))
    case 'error':
      return errorFrom(v as ErrorData)
    case 'object':
      return objectFrom(v as [string, unknown][])
    default:
      throw new NerveError('store-corrupt', `a stored value has the unknown tag ${JSON.stringify(kind)}`)
  }
}

function objectFrom(pairs: [string, unknown][]): unknown {
  const made: Record<string, unknown> = {}
  for (const [key, item] of pairs) {
    Object.defineProperty(made, key, { value: untag(item), enumerable: true, writable: true, configurable: true })
  }
  return made
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const record = value as Record<string, unknown>
  if (record[TAG] === 'object') return { [TAG]: 'object', v: sortedPairs(record['v'] as [string, unknown][]) }
  return Object.fromEntries(
    Object.keys(record)
      .toSorted()
      .map((key) => [key, sorted(record[key])]),
  )
}

function sortedPairs(pairs: readonly [string, unknown][]): unknown {
  return pairs.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)])
}
