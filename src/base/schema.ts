import { NerveError, type ErrorCode } from './nerve-error.ts'

/** Any schema library that speaks Standard Schema (zod, valibot, arktype and others) fits this shape. It takes `Given`, and gives `Value`. */
export interface Schema<Value = unknown, Given = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Value> | Promise<SchemaResult<Value>>
    readonly types?: { readonly input: Given; readonly output: Value } | undefined
    /** What it takes, as a JSON Schema: libraries that can say it have this. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => unknown } | undefined
  }
}

/** What somebody has to give for what a schema makes of it: the same, when the schema does not say. */
export type Unparsed<Value, Given> = unknown extends Given ? Value : Given

export type SchemaResult<Value> =
  | { readonly value: Value; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export function isSchema(value: unknown): value is Schema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value
}

/** What a schema takes as a JSON Schema, when its library can say it. */
export function asJsonSchema(schema: Schema): Readonly<Record<string, unknown>> | undefined {
  const own = schema as { readonly toJSONSchema?: unknown; readonly toJsonSchema?: unknown }
  const { jsonSchema } = schema['~standard']
  const method = own.toJSONSchema ?? own.toJsonSchema
  const made: unknown =
    jsonSchema === undefined
      ? typeof method === 'function'
        ? method.call(schema)
        : undefined
      : jsonSchema.input({ target: 'draft-2020-12' })
  return typeof made === 'object' && made !== null ? (made as Readonly<Record<string, unknown>>) : undefined
}

const MOST_ISSUES = 100
const MOST_LINE = 1_000

/** The value as the schema gives it back, or an error that names every field that does not fit. */
export async function parseWith<Value>(
  schema: Schema<Value>,
  value: unknown,
  problem: { readonly code: ErrorCode; readonly what: string },
): Promise<Value> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return result.value
  const lines = linesOf(result.issues)
  throw new NerveError(problem.code, `${problem.what} does not fit its schema: ${lines.join('; ')}`, {
    data: { issues: lines },
  })
}

/** What is wrong can be much longer than what was given: as much as somebody would read is told. */
function linesOf(issues: readonly SchemaIssue[]): readonly string[] {
  const lines = issues.slice(0, MOST_ISSUES).map((issue) => cut(`${issuePath(issue)}${issue.message}`))
  const left = issues.length - lines.length
  return left === 0 ? lines : [...lines, `and ${left} more`]
}

function cut(line: string): string {
  return line.length > MOST_LINE ? `${line.slice(0, MOST_LINE)}…` : line
}

function issuePath(issue: SchemaIssue): string {
  if (issue.path === undefined || issue.path.length === 0) return ''
  return `${issue.path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')}: `
}
