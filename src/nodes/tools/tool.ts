/** What models can use: any node, graph, workflow or function, with a name, a description and what it takes. */
import { checkKnown } from '../../base/check-known.ts'
import type { JsonSchema } from '../../base/json-schema.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Schema } from '../../base/schema.ts'
import type { AnyRunnable, InputOf, Policy, StepCall } from '../../engine/definition.ts'
import { isDefinition, isNode } from '../../engine/run-node.ts'
import { wholeNumber } from '../forkable.ts'
import { valueSchema, type ValueSchema } from './value-schema.ts'

/** Whether a person is asked before the tool is used: always, or when the function says so. */
export type Approval<Input = unknown> = boolean | 'ask' | ((input: Input) => boolean)

export interface ToolOptions<Input = unknown> {
  /** What the model calls it (default: the name of what it runs). */
  readonly name?: string
  /** Tells the model what it does and when to use it (default: the description of what it runs). */
  readonly description?: string
  /** What it takes, as a schema or a JSON Schema (default: what the node or definition checks its input with). */
  readonly input?: Schema<Input> | JsonSchema
  /** Makes what is run with of what the model gave. */
  readonly toInput?: (input: Input) => unknown
  /** Makes what the model is given of what it gave (default: itself). Texts stay as they are, the rest is JSON. */
  readonly toResult?: (output: never) => unknown
  readonly approval?: Approval<Input>
  /** The most characters of a result that the model is given (default 32,000). All of a longer one is in a file. */
  readonly maxResult?: number
  /** How its steps are run. With `onError`, a failure is what that says; without, the model is told. */
  readonly policy?: Policy
}

/** Something that a model can use. */
export interface Tool {
  readonly name: string
  readonly description: string
  readonly input: ValueSchema
  /** What runs: a node or a definition, or the name of one. */
  readonly runs: AnyRunnable | string
  readonly toInput: (input: unknown) => unknown
  readonly toResult: (output: unknown) => unknown
  readonly approval: Approval
  readonly maxResult: number
  readonly policy: Policy
}

type ToolFunction<Input> = (input: Input, call: StepCall) => unknown

/** Options for any input, for the one place that takes all of them. */
interface AnyOptions extends Omit<ToolOptions, 'input' | 'toInput' | 'approval'> {
  readonly input?: unknown
  readonly toInput?: unknown
  readonly approval?: unknown
}

const OPTIONS: readonly (keyof ToolOptions)[] = [
  'name',
  'description',
  'input',
  'toInput',
  'toResult',
  'approval',
  'maxResult',
  'policy',
]
const NAME = /^[A-Za-z0-9_-]{1,64}$/
const MAX_RESULT = 32_000

/**
 * Something that a model can use: a node, a graph, a workflow, the name of one, or a function. Each use is a step of the
 * run, so that a use that has ended is never made again.
 *
 * ```ts
 * import { tool } from 'nerve/models'
 *
 * const add = tool(({ a, b }: { a: number; b: number }) => a + b, {
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
 * })
 * ```
 */
export function tool<One extends AnyRunnable>(runs: One, options?: ToolOptions<InputOf<One>>): Tool
export function tool<Input = unknown>(run: ToolFunction<Input> | string, options: ToolOptions<Input>): Tool
export function tool(given: AnyRunnable | ToolFunction<never> | string, options: AnyOptions = {}): Tool {
  const name = options.name ?? ownName(given)
  const what = `tool '${name}'`
  checkKnown(what, options, OPTIONS)
  if (!NAME.test(name))
    throw new NerveError(
      'bad-option',
      `${JSON.stringify(name)} is not a name for a tool. Models take 1 to 64 letters, digits, '_' and '-'.`,
    )
  const runs = typeof given === 'function' ? functionNode(name, given) : given
  if (typeof runs !== 'string' && !isNode(runs) && !isDefinition(runs))
    throw new NerveError('bad-option', `${what} is neither a node, a definition, the name of one, nor a function.`)
  const description = options.description ?? ownDescription(runs)
  if (description === undefined || description === '')
    throw new NerveError('bad-option', `${what} has no description. A model needs one to know when to use it.`)
  const { schema, unwrap } = inputOf(what, (options.input as Schema | JsonSchema | undefined) ?? ownInput(runs))
  const toInput = options.toInput as ((input: unknown) => unknown) | undefined
  return {
    name,
    description,
    input: schema,
    runs,
    toInput: toInput === undefined ? unwrap : (input) => toInput(unwrap(input)),
    toResult: (options.toResult as ((output: unknown) => unknown) | undefined) ?? ((output) => output),
    approval: (options.approval ?? false) as Approval,
    maxResult: wholeNumber(`${what}: maxResult`, options.maxResult, MAX_RESULT),
    policy: options.policy ?? {},
  }
}

/** Models give objects. What takes something else is offered with one field. */
function inputOf(
  what: string,
  given: Schema | JsonSchema | undefined,
): { readonly schema: ValueSchema; readonly unwrap: (input: unknown) => unknown } {
  if (given === undefined)
    throw new NerveError('bad-option', `${what}: say what it takes: input, a schema or a JSON Schema.`)
  const schema = valueSchema(`${what}: input`, given)
  const { type } = schema.json
  if (type === undefined || type === 'object') return { schema, unwrap: (input) => input }
  const json = { type: 'object', properties: { input: schema.json }, required: ['input'], additionalProperties: false }
  const outer = valueSchema(what, json)
  return {
    schema: {
      json,
      async check(value) {
        const checked = await outer.check(value)
        if ('problems' in checked) return checked
        const inner = await schema.check((value as { input: unknown }).input)
        return 'problems' in inner ? inner : { value: { input: inner.value } }
      },
    },
    unwrap: (input) => (input as { input: unknown }).input,
  }
}

function ownName(given: unknown): string {
  const name = isNode(given) ? given.id : isDefinition(given) ? given.name : given
  const text = typeof name === 'function' ? name.name : typeof name === 'string' ? name : ''
  return text.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
}

function ownDescription(runs: AnyRunnable | string): string | undefined {
  if (typeof runs === 'string') return undefined
  return isNode(runs) ? runs.info().description : runs.options.description
}

function ownInput(runs: AnyRunnable | string): Schema | undefined {
  if (typeof runs === 'string') return undefined
  return isNode(runs) ? runs.input : runs.options.input
}

function functionNode(name: string, run: ToolFunction<never>): AnyRunnable {
  return {
    id: name === '' ? 'tool' : name,
    kind: 'function',
    persistent: false,
    execute: (input, call) => run(input as never, call),
    info: () => ({ id: name, kind: 'function', persistent: false, abilities: [] }),
  }
}
