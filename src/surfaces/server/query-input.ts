/** The input of a query in the query of an address: texts, made into what the schema says. */
import { z } from 'zod'
import { contract, type Name } from '../../host/contract/contract.ts'

interface Property {
  readonly type?: string
  readonly anyOf?: readonly Property[]
  readonly items?: Property
}

const known = new Map<Name, Readonly<Record<string, Property>>>()

function propertiesOf(name: Name): Readonly<Record<string, Property>> {
  const there = known.get(name)
  if (there !== undefined) return there
  const { properties = {} } = z.toJSONSchema(contract[name].input, { io: 'input' })
  known.set(name, properties as Readonly<Record<string, Property>>)
  return properties as Readonly<Record<string, Property>>
}

/** `?status=running,failed&limit=5`. What does not fit is left as text: the schema says what is wrong with it. */
export function inputFromQuery(name: Name, query: URLSearchParams): Readonly<Record<string, unknown>> {
  const properties = propertiesOf(name)
  const keys = [...new Set(query.keys())]
  return Object.fromEntries(
    keys.map((key) => [key, valueOf(query.getAll(key), Object.hasOwn(properties, key) ? properties[key] : undefined)]),
  )
}

function valueOf(texts: readonly string[], property: Property | undefined): unknown {
  if (property?.type === 'array') return texts.flatMap((text) => text.split(','))
  const text = texts.at(-1) ?? ''
  if (property?.type === 'boolean')
    return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text
  if (property?.type === 'integer' || property?.type === 'number') return /^-?[\d.]+$/.test(text) ? Number(text) : text
  return text
}
