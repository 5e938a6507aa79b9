/** Where in the input of something a caller may give a text, as its schema says. */
import { z } from 'zod'
import { contract, type Name } from '../../src/host/contract/contract.ts'

export interface Field {
  /** The way to it: names of fields, and numbers in lists. */
  readonly at: readonly string[]
  /** Anything may be there: a value, and no name. */
  readonly isData: boolean
}

interface Shape {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Shape>>
  readonly additionalProperties?: Shape | boolean
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Shape[]
  readonly items?: Shape
  readonly $ref?: string
}

/** `more` are fields inside of what is data for the schema. */
export function textFields(name: Name, more: readonly (readonly string[])[] = []): readonly Field[] {
  const schema = z.toJSONSchema(contract[name].input, { io: 'input', unrepresentable: 'any' }) as Shape
  return [...fieldsIn(schema, []), ...more.map((at) => ({ at, isData: false }))]
}

function fieldsIn(shape: Shape, at: readonly string[]): readonly Field[] {
  if (shape.anyOf !== undefined) return shape.anyOf.flatMap((one) => fieldsIn(one, at))
  // One of a few words, or a part with a name of its own: texts that are refused at once.
  if (shape.const !== undefined || shape.enum !== undefined || shape.$ref !== undefined) return [{ at, isData: false }]
  switch (shape.type) {
    case 'object':
      return [
        ...Object.entries(shape.properties ?? {}).flatMap(([key, one]) => fieldsIn(one, [...at, key])),
        ...(typeof shape.additionalProperties === 'object' ? [{ at: [...at, 'any'], isData: true }] : []),
      ]
    case 'array':
      return fieldsIn(shape.items ?? {}, [...at, '0'])
    case 'string':
      return [{ at, isData: false }]
    case undefined:
      return [{ at, isData: true }]
    default:
      return []
  }
}

/** The input with a text at a place, which is made where it is not there. */
export function withText(input: unknown, [key, ...rest]: readonly string[], text: string): unknown {
  if (key === undefined) return text
  if (key === '0') return [withText(undefined, rest, text)]
  const there = (typeof input === 'object' && input !== null ? input : {}) as Readonly<Record<string, unknown>>
  return { ...there, [key]: withText(there[key], rest, text) }
}
