/** A schema in both of its forms: as the JSON Schema that a model is told, and as what checks a value. */
import { checkShape, resolverOf, type JsonSchema } from '../../base/json-schema.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { asJsonSchema, isSchema, type Schema } from '../../base/schema.ts'

export interface ValueSchema {
  readonly json: JsonSchema
  /** The value as the schema gives it back, or everything that does not fit. */
  readonly check: (value: unknown) => Promise<{ readonly value: unknown } | { readonly problems: readonly string[] }>
}

/** From a schema of a library, or from a JSON Schema. `told` says what the library cannot say. */
export function valueSchema(what: string, given: Schema | JsonSchema, told?: JsonSchema): ValueSchema {
  if (!isSchema(given)) return ofJson(what, given)
  const json = told ?? asJsonSchema(given)
  if (json === undefined)
    throw new NerveError(
      'bad-option',
      `${what}: the library '${given['~standard'].vendor}' cannot say its schemas as JSON Schema. Give that too: jsonSchema.`,
    )
  return {
    json,
    async check(value) {
      const result = await given['~standard'].validate(value)
      return result.issues === undefined ? { value: result.value } : { problems: result.issues.map(problemText) }
    },
  }
}

/** Keywords that are not known are left to the model: schemas of other programs have some. */
function ofJson(what: string, json: JsonSchema): ValueSchema {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new NerveError('bad-option', `${what} is neither a schema nor a JSON Schema.`)
  const resolve = resolverOf(json)
  return {
    json,
    check: async (value) => {
      const issues = shapeIssues(() => checkShape(json, value, { path: [], resolve }))
      return issues.length === 0 ? { value } : { problems: issues.map(problemText) }
    },
  }
}

/** A pattern of another dialect cannot be checked here. */
function shapeIssues(check: () => readonly Problem[]): readonly Problem[] {
  try {
    return check()
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}

interface Problem {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

function problemText({ path = [], message }: Problem): string {
  const where = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  return where === '' ? message : `${where}: ${message}`
}
