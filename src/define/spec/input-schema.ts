/** The input of a definition, checked by a JSON Schema: what a spec writes where code brings a schema library. */
import { NerveError } from '../../base/nerve-error.ts'
import { nearest } from '../../base/nearest.ts'
import type { Schema } from '../../base/schema.ts'
import {
  KEYWORDS,
  checkShape,
  isRecord,
  resolverOf,
  type JsonSchema,
  type Key,
  type ShapeProblem,
} from '../../base/json-schema.ts'

const SOURCES = new WeakMap<object, JsonSchema>()
const ANNOTATIONS: readonly string[] = [
  '$schema',
  '$id',
  '$defs',
  'definitions',
  '$comment',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'format',
]
const KNOWN: readonly string[] = [...KEYWORDS, ...ANNOTATIONS]

/**
 * A schema from a JSON Schema. It checks, and changes nothing.
 *
 * ```ts
 * import { graph } from 'nerve/graph'
 * import { jsonSchema } from 'nerve/spec'
 *
 * export default graph('research', { input: jsonSchema<{ topic: string }>({
 *   type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'],
 * }) })
 * ```
 */
export function jsonSchema<Value = unknown>(schema: JsonSchema): Schema<Value> {
  const problems = schemaProblems(schema, [])
  if (problems.length > 0)
    throw new NerveError(
      'bad-definition',
      `This JSON Schema cannot be used: ${problems.map(({ path, message }) => `${['schema', ...path].join('.')} ${message}`).join(' ')}`,
      { data: { problems } },
    )
  const resolve = resolverOf(schema)
  const made: Schema<Value> = {
    '~standard': {
      version: 1,
      vendor: 'json-schema',
      validate: (value) => {
        const issues = checkShape(schema, value, { path: [], resolve })
        return issues.length === 0 ? { value: value as Value } : { issues }
      },
      jsonSchema: { input: () => schema },
    },
  }
  SOURCES.set(made, schema)
  return made
}

/** The JSON Schema that a schema was made of. */
export function jsonSchemaOf(schema: object): JsonSchema | undefined {
  return SOURCES.get(schema)
}

/** Keywords that are not known are a problem: a rule that is silently not checked is worse than none. */
export function schemaProblems(schema: unknown, path: readonly Key[], root: unknown = schema): readonly ShapeProblem[] {
  if (!isRecord(schema)) return [{ path, message: 'is not a JSON Schema: give an object.' }]
  return Object.entries(schema).flatMap(([keyword, rule]): readonly ShapeProblem[] => {
    const here = [...path, keyword]
    if (!KNOWN.includes(keyword)) return [{ path: here, message: unknownKeyword(keyword) }]
    if (keyword === 'pattern') return isPattern(rule) ? [] : [{ path: here, message: 'is not a pattern.' }]
    if (keyword === '$ref') {
      const found = typeof rule === 'string' && isRecord(root) ? resolverOf(root)(rule) : undefined
      return found === undefined ? [{ path: here, message: 'refers to nothing in this schema.' }] : []
    }
    return inner(keyword, rule, here).flatMap(([one, at]) => schemaProblems(one, at, root))
  })
}

/** The schemas inside a keyword. */
function inner(keyword: string, rule: unknown, path: readonly Key[]): readonly (readonly [unknown, readonly Key[]])[] {
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return isRecord(rule) ? Object.entries(rule).map(([key, one]) => [one, [...path, key]] as const) : [[rule, path]]
    case 'items':
    case 'not':
      return [[rule, path]]
    case 'additionalProperties':
      return typeof rule === 'boolean' ? [] : [[rule, path]]
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return Array.isArray(rule) ? rule.map((one: unknown, at) => [one, [...path, at]] as const) : [[rule, path]]
    default:
      return []
  }
}

function unknownKeyword(keyword: string): string {
  const near = nearest(keyword, KNOWN)
  return `is not a keyword that is checked.${near === undefined ? '' : ` Did you mean '${near}'?`}`
}

function isPattern(rule: unknown): boolean {
  try {
    return typeof rule === 'string' && new RegExp(rule, 'u') instanceof RegExp
  } catch {
    return false
  }
}
