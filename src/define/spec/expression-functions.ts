/** What expressions can call. Each gives the same for the same: no clock, no chance, no patterns that can hang. */
import { describe } from '../../base/nerve-error.ts'
import { characters, shown } from '../../base/shown.ts'

/** Counts the work of an expression, and ends it. */
export interface Meter {
  spend(work: number): void
  size(value: unknown): number
  fail(message: string): never
}

/** For work that is bounded by something else. */
export const UNCOUNTED: Meter = {
  spend: () => undefined,
  size: () => 0,
  fail: (message) => {
    throw new Error(message)
  },
}

type Call = (meter: Meter, args: readonly unknown[]) => unknown
type Method = (meter: Meter, of: unknown, ...args: readonly unknown[]) => unknown

const MACROS: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map']
/** Methods of what may be missing; evaluate.ts has them. */
const OF_MISSING: readonly string[] = ['hasValue', 'orValue']

export function isMacro(name: string): boolean {
  return MACROS.includes(name)
}

export const FUNCTIONS: Readonly<Record<string, Call>> = {
  size: (meter, [of]) => size(meter, of),
  string: (meter, [of]) => textOf(meter, of),
  int: (meter, [of]) => Math.trunc(numberOf(meter, of)),
  double: (meter, [of]) => numberOf(meter, of),
  bool: (meter, [of]) => {
    if (typeof of === 'boolean') return of
    if (of === 'true') return true
    if (of === 'false') return false
    return meter.fail(`bool() of ${shown(of)} is neither true nor false.`)
  },
}

export const METHODS: Readonly<Record<string, Method>> = {
  size: (meter, of) => size(meter, of),
  contains: (meter, of, part) => text(meter, of, 'contains').includes(text(meter, part, 'contains')),
  startsWith: (meter, of, part) => text(meter, of, 'startsWith').startsWith(text(meter, part, 'startsWith')),
  endsWith: (meter, of, part) => text(meter, of, 'endsWith').endsWith(text(meter, part, 'endsWith')),
  indexOf: (meter, of, part) => text(meter, of, 'indexOf').indexOf(text(meter, part, 'indexOf')),
  lowerAscii: (meter, of) => text(meter, of, 'lowerAscii').replaceAll(/[A-Z]+/gu, (found) => found.toLowerCase()),
  upperAscii: (meter, of) => text(meter, of, 'upperAscii').replaceAll(/[a-z]+/gu, (found) => found.toUpperCase()),
  trim: (meter, of) => text(meter, of, 'trim').trim(),
  split: (meter, of, by) => {
    const parts = text(meter, of, 'split').split(text(meter, by, 'split'))
    meter.spend(parts.length)
    return parts
  },
  substring: (meter, of, from, to) => {
    const whole = text(meter, of, 'substring')
    const [first, last] = [index(meter, from), to === undefined ? whole.length : index(meter, to)]
    return first <= last && last <= whole.length
      ? whole.slice(first, last)
      : meter.fail(`substring(${first}, ${last}) is outside a text of ${whole.length}.`)
  },
  join: (meter, of, by = '') => {
    const made = list(meter, of, 'join')
      .map((one) => text(meter, one, 'join'))
      .join(text(meter, by, 'join'))
    meter.spend(made.length >> 4)
    return made
  },
  sum: (meter, of) =>
    finite(
      meter,
      numbers(meter, of, 'sum').reduce((a, b) => a + b, 0),
    ),
  min: (meter, of) => least(meter, numbers(meter, of, 'min'), (a, b) => a < b),
  max: (meter, of) => least(meter, numbers(meter, of, 'max'), (a, b) => a > b),
}

/** Names for the check of an expression before it runs. */
export const FUNCTION_NAMES: readonly string[] = ['has', ...Object.keys(FUNCTIONS)]
export const METHOD_NAMES: readonly string[] = [...Object.keys(METHODS), ...MACROS, ...OF_MISSING]

/** A value as text: texts as they are, everything else as JSON. */
export function textOf(meter: Meter, value: unknown): string {
  meter.spend(meter.size(value))
  return describe(value)
}

function size(meter: Meter, of: unknown): number {
  if (typeof of === 'string') return characters(text(meter, of, 'size'))
  if (Array.isArray(of)) return of.length
  if (typeof of !== 'object' || of === null) return meter.fail(`size() of ${shown(of)} is not known.`)
  const count = Object.keys(of).length
  meter.spend(count)
  return count
}

function text(meter: Meter, value: unknown, method: string): string {
  if (typeof value !== 'string') return meter.fail(`.${method}() works on texts, not on ${shown(value)}.`)
  meter.spend(value.length >> 4)
  return value
}

function list(meter: Meter, value: unknown, method: string): readonly unknown[] {
  if (!Array.isArray(value)) return meter.fail(`.${method}() works on lists, not on ${shown(value)}.`)
  meter.spend(value.length)
  return value
}

function numbers(meter: Meter, value: unknown, method: string): readonly number[] {
  return list(meter, value, method).map((one) =>
    typeof one === 'number' ? one : meter.fail(`.${method}() works on lists of numbers, not on ${shown(one)}.`),
  )
}

function least(meter: Meter, all: readonly number[], isBetter: (a: number, b: number) => boolean): number {
  const [first, ...others] = all
  if (first === undefined) return meter.fail('an empty list has neither a least nor a greatest.')
  return others.reduce((best, one) => (isBetter(one, best) ? one : best), first)
}

/** JSON has no infinity. */
export function finite(meter: Meter, value: number): number {
  return Number.isFinite(value) ? value : meter.fail(`the result is ${value}, which JSON cannot hold.`)
}

function index(meter: Meter, value: unknown): number {
  return Number.isInteger(value) && (value as number) >= 0
    ? (value as number)
    : meter.fail(`${shown(value)} is not a place in a text.`)
}

function numberOf(meter: Meter, value: unknown): number {
  if (typeof value === 'number') return value
  const found = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  return Number.isFinite(found) ? found : meter.fail(`${shown(value)} is not a number.`)
}
