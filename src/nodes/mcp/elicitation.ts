/** What a server wants to know from a person, as a question, and the answer as the server takes it. Pure. */
import type { Schema } from '../../base/schema.ts'
import type { StepAskOptions } from '../../engine/definition.ts'

/** The schema that comes with a request: an object whose fields are plain values. */
export interface FormSchema {
  readonly properties: Readonly<Record<string, FormField>>
  readonly required?: readonly string[]
}

export interface FormField {
  readonly type?: string
  readonly title?: string
  readonly enum?: readonly string[]
  readonly oneOf?: readonly { readonly const: string; readonly title?: string }[]
  readonly [more: string]: unknown
}

export type Elicited =
  | { readonly action: 'accept'; readonly content: Record<string, string | number | boolean | string[]> }
  | { readonly action: 'decline' | 'cancel' }

const DECLINE = 'decline'
const DECLINED: Elicited = { action: 'decline' }

/** A form of one field with fixed values is a choice; any other wants an object, or the word `decline`. */
export function questionOf(schema: FormSchema): Pick<StepAskOptions<string, Elicited>, 'choices' | 'schema'> {
  const [only, ...others] = Object.entries(schema.properties)
  const values = only === undefined || others.length > 0 ? undefined : valuesOf(only[1])
  return values === undefined ? { schema: formSchema(schema) } : { choices: [...values, DECLINE] }
}

/** The answer to what `questionOf` asks, which for a choice is a text. */
export function elicited(schema: FormSchema, answer: unknown): Elicited {
  if (typeof answer === 'object' && answer !== null) return answer as Elicited
  const [name, field] = Object.entries(schema.properties)[0] ?? ['', {}]
  if (answer === DECLINE) return DECLINED
  return { action: 'accept', content: { [name]: field.type === 'boolean' ? answer === 'yes' : String(answer) } }
}

function valuesOf({ type, enum: listed, oneOf }: FormField): readonly string[] | undefined {
  return type === 'boolean' ? ['yes', 'no'] : (listed ?? oneOf?.map((one) => one.const))
}

function formSchema(form: FormSchema): Schema<Elicited> {
  return {
    '~standard': {
      version: 1,
      vendor: 'nerve',
      validate: (answer) => {
        if (answer === DECLINE) return { value: DECLINED }
        const issues = problemsOf(form, answer)
        return issues.length === 0
          ? { value: { action: 'accept', content: answer as Record<string, string> } }
          : { issues }
      },
    },
  }
}

function problemsOf(
  { properties, required = [] }: FormSchema,
  answer: unknown,
): { message: string; path?: string[] }[] {
  const names = Object.keys(properties)
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
    return [{ message: `give an object with ${names.join(', ')}, or ${DECLINE}` }]
  const missing = required.filter((name) => !Object.hasOwn(answer, name))
  const problems = missing.map((name) => ({ message: 'is missing', path: [name] }))
  for (const [name, value] of Object.entries(answer)) {
    const field = properties[name]
    const message = field === undefined ? `is not asked for; known: ${names.join(', ')}` : misfit(field, value)
    if (message !== undefined) problems.push({ message, path: [name] })
  }
  return problems
}

function misfit(field: FormField, value: unknown): string | undefined {
  const values = field.type === 'boolean' ? undefined : valuesOf(field)
  if (values !== undefined) return values.includes(value as string) ? undefined : `must be one of ${values.join(', ')}`
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'integer':
      return Number.isInteger(value) ? undefined : 'must be a whole number'
    case 'number':
      return typeof value === 'number' ? undefined : 'must be a number'
    case 'array':
      return Array.isArray(value) ? undefined : 'must be a list'
    default:
      return typeof value === 'string' ? undefined : 'must be text'
  }
}
