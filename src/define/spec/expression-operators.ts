/** What the operators of expressions mean for values of JSON. */
import type { BinaryOperator } from '@marcbachmann/cel-js'
import { shown } from '../../base/shown.ts'
import { finite, type Meter } from './expression-functions.ts'

export function operate(meter: Meter, op: BinaryOperator, [a, b]: readonly [unknown, unknown]): unknown {
  switch (op) {
    case '==':
      return same(meter, a, b)
    case '!=':
      return !same(meter, a, b)
    case 'in':
      if (Array.isArray(b)) return b.some((one) => same(meter, a, one))
      if (isObject(b)) return typeof a === 'string' && Object.hasOwn(b, a)
      break
    case '+':
      if (typeof a === 'string' && typeof b === 'string') return paid(meter, a + b)
      if (Array.isArray(a) && Array.isArray(b)) return paid(meter, [...(a as unknown[]), ...(b as unknown[])])
      break
    default:
  }
  const value = typeof a === 'number' && typeof b === 'number' ? calculate(meter, op, a, b) : undefined
  const order =
    (typeof a === 'number' && typeof b === 'number') || (typeof a === 'string' && typeof b === 'string')
      ? compare(op, a, b)
      : undefined
  return value ?? order ?? meter.fail(`${shown(a)} ${op} ${shown(b)} means nothing.${hint(op, a, b)}`)
}

function hint(op: BinaryOperator, a: unknown, b: unknown): string {
  return op === '+' && (typeof a === 'string' || typeof b === 'string') ? ' To join texts, say string(…).' : ''
}

function calculate(meter: Meter, op: BinaryOperator, a: number, b: number): number | undefined {
  switch (op) {
    case '+':
      return finite(meter, a + b)
    case '-':
      return finite(meter, a - b)
    case '*':
      return finite(meter, a * b)
    case '/':
      return finite(meter, a / b)
    case '%':
      return finite(meter, a % b)
    default:
      return undefined
  }
}

function compare(op: BinaryOperator, a: number | string, b: number | string): boolean | undefined {
  switch (op) {
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
    default:
      return undefined
  }
}

/** Equal as JSON: the order of fields does not count. */
function same(meter: Meter, a: unknown, b: unknown): boolean {
  meter.spend(1)
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, index) => same(meter, one, b[index]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  meter.spend(keys.length)
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(meter, a[key], b[key]))
  )
}

function paid<Value>(meter: Meter, value: Value): Value {
  meter.spend(meter.size(value))
  return value
}

/** Not a list, and nothing with a class: an expression looks into data only. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
