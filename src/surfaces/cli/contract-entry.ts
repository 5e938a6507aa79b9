/** A line of the contract for people: what it takes and gives, and how its fields are typed. Pure: the contract says all of it. */
import { z } from 'zod'
import { nearest } from '../../base/nearest.ts'
import { parseWith, type Schema } from '../../base/schema.ts'
import { contract, isName, type Name } from '../../host/contract/contract.ts'
import type { AnyEntry } from '../../host/contract/entry.ts'
import { UsageError } from './exit-code.ts'
import { parseValue } from './values.ts'

/** What of a JSON Schema is shown. */
interface Shape {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly items?: Shape
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Shape[]
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Shape>>
}

export interface Field {
  readonly name: string
  readonly type: string
  readonly needed: boolean
  readonly about: string
}

export function contractName(text: string): Name {
  if (isName(text)) return text
  const meant = nearest(text, Object.keys(contract))
  throw new UsageError(
    `nerve call: there is no '${text}'.${meant === undefined ? '' : ` Did you mean '${meant}'?`} See: nerve call`,
  )
}

/** As it is listed. */
export function entryData(name: Name): Readonly<Record<string, unknown>> {
  const { kind, scope, summary, local, localFields }: AnyEntry = contract[name]
  return {
    ...{ name, kind, scope, summary },
    ...(local === undefined ? {} : { local }),
    ...(localFields === undefined ? {} : { localFields }),
  }
}

export function schemas(name: Name): { readonly input: Shape; readonly output: Shape } {
  const { input, output }: AnyEntry = contract[name]
  return {
    input: z.toJSONSchema(input, { io: 'input' }) as Shape,
    output: z.toJSONSchema(output, { io: 'output' }) as Shape,
  }
}

export function fieldsOf(shape: Shape): readonly Field[] {
  const { properties = {}, required = [], $defs = {} } = shape
  return Object.entries(properties).map(([name, field]) => {
    const meant = resolved(field, $defs)
    const about = field.description ?? meant.description ?? ''
    return { name, type: typeText(meant, $defs), needed: required.includes(name), about }
  })
}

/** What is given, in one line. */
export function outputText({ $defs = {}, ...shape }: Shape): string {
  return typeText(resolved(shape, $defs), $defs)
}

/** `--param`: the text of a field as the value that its schema takes. What does not fit is left for the schema to refuse. */
export function inputOf(name: Name, given: object, pairs: readonly (readonly [field: string, text: string])[]): object {
  const { properties = {}, $defs = {} } = schemas(name).input
  const more = pairs.map(([field, text]) => {
    const shape = Object.hasOwn(properties, field) ? resolved(properties[field] ?? {}, $defs) : {}
    return [field, valueOf(shape, text)] as const
  })
  return { ...given, ...Object.fromEntries(more) }
}

/** Refuses an input that does not fit, before anything is opened for it. */
export async function checkFields(name: Name, input: object): Promise<void> {
  const known = Object.keys(schemas(name).input.properties ?? {})
  const wrong = Object.keys(input).find((field) => !known.includes(field))
  if (wrong !== undefined) {
    const meant = nearest(wrong, known)
    const hint = meant === undefined ? (known.length === 0 ? 'It takes none.' : '') : `Did you mean '${meant}'?`
    throw new UsageError(`nerve call ${name}: there is no field '${wrong}'. ${hint} See: nerve call ${name} --schema`)
  }
  const schema = contract[name].input as unknown as Schema
  await parseWith(schema, input, { code: 'bad-input', what: `The input of ${name}` })
}

function valueOf({ type }: Shape, text: string): unknown {
  // A text that looks like a number is one all the same: ids do.
  if (type === 'string') return text
  const value = parseValue(text)
  return type === 'array' && !Array.isArray(value) ? text.split(',') : value
}

function typeText(shape: Shape, defs: Readonly<Record<string, Shape>>): string {
  const { type, items, properties, anyOf, enum: choices, const: only } = shape
  const inner = (one: Shape): string => typeText(resolved(one, defs), defs)
  if (choices !== undefined) return choices.join('|')
  if (only !== undefined) return JSON.stringify(only)
  if (anyOf !== undefined) return [...new Set(anyOf.map(inner))].join(' or ')
  if (type === 'array') return `list of ${inner(items ?? {})}`
  if (type === 'object') return properties === undefined ? 'object' : `{${Object.keys(properties).join(', ')}}`
  if (type === 'integer') return 'whole number'
  if (type === 'string') return 'text'
  return type ?? 'any JSON'
}

function resolved(shape: Shape, defs: Readonly<Record<string, Shape>>): Shape {
  const { $ref, ...rest } = shape
  return $ref === undefined ? shape : { ...defs[$ref.replace('#/$defs/', '')], ...rest }
}
