/** The part of JSON Schema that is checked: of specs themselves, and of inputs and answers. Pure. */
import { nearest } from './nearest.ts'
import { characters, shown } from './shown.ts'

export type JsonSchema = Readonly<Record<string, unknown>>
export type Key = string | number

export interface ShapeProblem {
  readonly path: readonly Key[]
  readonly message: string
  /** It is about the name of the field, not about what is in it. */
  readonly key?: true
  /** In an expression: its text, and where in it. */
  readonly text?: string
  readonly offset?: number
}

/** What a `$ref` stands for: another schema, or a check of its own. */
export type Resolved =
  | JsonSchema
  | ((value: unknown, path: readonly Key[], schema: JsonSchema) => readonly ShapeProblem[])
export type Resolve = (ref: string) => Resolved | undefined

export interface Shape {
  readonly path: readonly Key[]
  readonly resolve: Resolve
  /** How deep references have been followed without an end. */
  readonly depth?: number
}

const MAX_DEPTH = 200

/** Everything about a value that does not fit. */
export function checkShape(schema: JsonSchema, value: unknown, shape: Shape): readonly ShapeProblem[] {
  const { path, resolve, depth = 0 } = shape
  if (depth > MAX_DEPTH) return [{ path, message: 'is nested too deep, or its schema refers to itself.' }]
  const deeper: Shape = { ...shape, depth: depth + 1 }
  const { $ref } = schema
  if (typeof $ref === 'string') {
    const target = resolve($ref)
    if (target === undefined) return [{ path, message: `cannot be checked: there is no ${$ref}.` }]
    return typeof target === 'function' ? target(value, path, schema) : checkShape(target, value, deeper)
  }
  const wrong = typeProblem(schema, value)
  if (wrong !== undefined) return [{ path, message: wrong }]
  return Object.entries(schema).flatMap(([keyword, rule]) =>
    Object.hasOwn(RULES, keyword) ? (RULES[keyword]?.(rule, value, deeper, schema) ?? []) : [],
  )
}

type Rule = (rule: unknown, value: unknown, shape: Shape, schema: JsonSchema) => readonly ShapeProblem[]

const RULES: Readonly<Record<string, Rule>> = {
  const: (rule, value, { path }) =>
    equal(rule, value) ? [] : [{ path, message: `should be ${shown(rule)}, not ${shown(value)}.` }],
  enum: (rule, value, { path }) =>
    list(rule).some((one) => equal(one, value)) ? [] : [{ path, message: notOne(list(rule), value) }],
  properties: (rule, value, shape) =>
    isRecord(value)
      ? Object.entries(rule as Readonly<Record<string, JsonSchema>>).flatMap(([key, inner]) =>
          Object.hasOwn(value, key) ? checkShape(inner, value[key], { ...shape, path: [...shape.path, key] }) : [],
        )
      : [],
  required: (rule, value, { path }) =>
    isRecord(value)
      ? list(rule).flatMap((key) =>
          Object.hasOwn(value, String(key)) ? [] : [{ path, message: `has no '${String(key)}'.` }],
        )
      : [],
  additionalProperties: (rule, value, shape, { properties = {} }) =>
    isRecord(value) ? others(rule, value, shape, Object.keys(properties as object)) : [],
  items: (rule, value, shape) =>
    Array.isArray(value)
      ? value.flatMap((one, index) => checkShape(rule as JsonSchema, one, { ...shape, path: [...shape.path, index] }))
      : [],
  minItems: (rule, value, { path }) => atLeast(Array.isArray(value) ? value.length : undefined, rule, path, 'items'),
  maxItems: (rule, value, { path }) => atMost(Array.isArray(value) ? value.length : undefined, rule, path, 'items'),
  minProperties: (rule, value, { path }) =>
    atLeast(isRecord(value) ? Object.keys(value).length : undefined, rule, path, 'fields'),
  maxProperties: (rule, value, { path }) =>
    atMost(isRecord(value) ? Object.keys(value).length : undefined, rule, path, 'fields'),
  minLength: (rule, value, { path }) =>
    atLeast(typeof value === 'string' ? characters(value) : undefined, rule, path, 'characters'),
  maxLength: (rule, value, { path }) =>
    atMost(typeof value === 'string' ? characters(value) : undefined, rule, path, 'characters'),
  minimum: (rule, value, { path }) =>
    typeof value === 'number' && value < Number(rule)
      ? [{ path, message: `should be at least ${String(rule)}, not ${value}.` }]
      : [],
  maximum: (rule, value, { path }) =>
    typeof value === 'number' && value > Number(rule)
      ? [{ path, message: `should be at most ${String(rule)}, not ${value}.` }]
      : [],
  exclusiveMinimum: (rule, value, { path }) =>
    typeof value === 'number' && value <= Number(rule)
      ? [{ path, message: `should be more than ${String(rule)}, not ${value}.` }]
      : [],
  exclusiveMaximum: (rule, value, { path }) =>
    typeof value === 'number' && value >= Number(rule)
      ? [{ path, message: `should be less than ${String(rule)}, not ${value}.` }]
      : [],
  pattern: (rule, value, { path }, { title }) =>
    typeof value !== 'string' || new RegExp(String(rule), 'u').test(value)
      ? []
      : [
          {
            path,
            message: `should be ${typeof title === 'string' ? title : `like ${String(rule)}`}, not ${shown(value)}.`,
          },
        ],
  uniqueItems: (rule, value, { path }) =>
    rule === true && Array.isArray(value) && new Set(value.map((one) => JSON.stringify(one))).size < value.length
      ? [{ path, message: 'has the same item twice.' }]
      : [],
  anyOf: (rule, value, shape) => fitting(list(rule) as JsonSchema[], value, shape, Infinity),
  oneOf: (rule, value, shape) => fitting(list(rule) as JsonSchema[], value, shape, 1),
  allOf: (rule, value, shape) => (list(rule) as JsonSchema[]).flatMap((one) => checkShape(one, value, shape)),
  not: (rule, value, shape) =>
    checkShape(rule as JsonSchema, value, shape).length > 0
      ? []
      : [{ path: shape.path, message: 'has a form that is not allowed.' }],
}

/**
 * Each form is tried once, because forms nest. When only one is of the right kind, what is wrong with that one is what is
 * wrong.
 */
function fitting(forms: readonly JsonSchema[], value: unknown, shape: Shape, most: number): readonly ShapeProblem[] {
  const { path } = shape
  const tried = forms.map((form) => ({ form, problems: checkShape(form, value, shape) }))
  const fit = tried.filter(({ problems }) => problems.length === 0).length
  if (fit > most) return [{ path, message: `fits ${fit} of the forms that it may have, and should fit one.` }]
  if (fit > 0) return []
  const likely = tried.filter(({ form }) => form['const'] === undefined && typeProblem(form, value) === undefined)
  const [only] = likely
  if (likely.length === 1 && only !== undefined) return only.problems
  return [{ path, message: `should be ${forms.map(wanted).join(', or ')}, not ${shown(value)}.` }]
}

function others(
  rule: unknown,
  value: Readonly<Record<string, unknown>>,
  shape: Shape,
  known: readonly string[],
): readonly ShapeProblem[] {
  const keys = Object.keys(value).filter((key) => !known.includes(key))
  if (rule === false)
    return keys.map((key) => ({ path: [...shape.path, key], message: unknownField(key, known), key: true }))
  if (rule === true) return []
  return keys.flatMap((key) => checkShape(rule as JsonSchema, value[key], { ...shape, path: [...shape.path, key] }))
}

export function unknownField(key: string, known: readonly string[]): string {
  const near = nearest(key, known)
  return near === undefined
    ? `is not a field here. Known: ${known.join(', ')}.`
    : `is not a field here. Did you mean '${near}'?`
}

function typeProblem(schema: JsonSchema, value: unknown): string | undefined {
  const { type } = schema
  if (type === undefined) return undefined
  const types = typeof type === 'string' ? [type] : list(type).map(String)
  return types.some((one) => isOf(one, value)) ? undefined : `should be ${wanted(schema)}, not ${shown(value)}.`
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
}

function wanted(schema: JsonSchema): string {
  const { title, type, enum: choices, const: only, items } = schema
  if (typeof title === 'string') return title
  if (only !== undefined) return shown(only)
  if (choices !== undefined)
    return `one of ${list(choices)
      .map((one) => String(one))
      .join(', ')}`
  const types = (typeof type === 'string' ? [type] : list(type ?? [])).map((one) => NAMES[String(one)] ?? String(one))
  const inner = isRecord(items) && items['type'] === 'string' ? ' of texts' : ''
  return types.length === 0 ? 'something else' : `${types.join(' or ')}${inner}`
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isRecord(value)
    case 'null':
      return value === null
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

function notOne(choices: readonly unknown[], value: unknown): string {
  const near = typeof value === 'string' ? nearest(value, choices.map(String)) : undefined
  const hint = near === undefined ? '' : ` Did you mean '${near}'?`
  return `should be one of ${choices.map(String).join(', ')}, not ${shown(value)}.${hint}`
}

function atLeast(
  count: number | undefined,
  rule: unknown,
  path: readonly Key[],
  what: string,
): readonly ShapeProblem[] {
  return count !== undefined && count < Number(rule)
    ? [{ path, message: `should have at least ${String(rule)} ${what}, not ${count}.` }]
    : []
}

function atMost(count: number | undefined, rule: unknown, path: readonly Key[], what: string): readonly ShapeProblem[] {
  return count !== undefined && count > Number(rule)
    ? [{ path, message: `should have at most ${String(rule)} ${what}, not ${count}.` }]
    : []
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, at) => equal(one, b[at]))
  if (!isRecord(a) || !isRecord(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]))
}

/** References into the schema itself, and nowhere else. */
export function resolverOf(schema: JsonSchema): Resolve {
  return (ref) => {
    if (!ref.startsWith('#')) return undefined
    let at: unknown = schema
    for (const part of ref.slice(1).split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      at = isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined
    }
    return isRecord(at) ? at : undefined
  }
}

export const KEYWORDS: readonly string[] = ['type', '$ref', ...Object.keys(RULES)]
