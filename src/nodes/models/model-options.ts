/** What model nodes are told, and what is made of it before anything runs. */
import { checkKnown } from '../../base/check-known.ts'
import { milliseconds } from '../../base/duration.ts'
import type { JsonSchema } from '../../base/json-schema.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Schema } from '../../base/schema.ts'
import type { Policy } from '../../engine/definition.ts'
import { isLabel } from '../../engine/scope.ts'
import type { Tool } from '../tools/tool.ts'
import { valueSchema, type ValueSchema } from '../tools/value-schema.ts'
import { splitName, type ModelObject, type ProviderPlace } from './load-ai.ts'
import type { Prompt } from './message.ts'
import type { Pricing } from './price.ts'

/** A model object of the AI SDK, or PROVIDER:MODEL, such as `anthropic:claude-sonnet-5`. */
export type Model = ModelObject | string

export type ToolChoice = 'auto' | 'required' | 'none' | { readonly tool: string }

export interface ModelNodeOptions<Input = Prompt, Value = string> extends ProviderPlace {
  readonly model: Model
  /** Models to turn to, in order, when one cannot answer: it is down, or its limit is reached. */
  readonly fallback?: readonly Model[]
  readonly description?: string
  readonly system?: string
  /** Makes what is said of the input. Without it, the input is what is said. */
  readonly prompt?: (input: Input) => Prompt
  /** What the answer must be: an object. The model is told, and asked again when it does not fit. */
  readonly schema?: Schema<Value>
  /** The same as a JSON Schema: alone, or beside a `schema` whose library cannot say it. */
  readonly jsonSchema?: JsonSchema
  /** How often it is asked again for an answer that fits (default 2). */
  readonly reasks?: number
  readonly tools?: readonly Tool[]
  /** Whether it has to use a tool, and which (default `auto`). Anything but `none` is for the first call of a turn. */
  readonly toolChoice?: ToolChoice
  /** How often it may use tools before it has to answer (default 10). */
  readonly rounds?: number
  /** Whether tools that it asks for together run at the same time (default true). */
  readonly parallelTools?: boolean
  /** The most tokens of one answer. They are set aside before the call, so that a budget of tokens holds. */
  readonly maxOutputTokens?: number
  /** What happens to an answer that was cut off there (default `fail`). */
  readonly cut?: 'fail' | 'keep'
  /** More for the model, as the AI SDK takes it: temperature, topP, seed, stopSequences, providerOptions. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** How calls of the model are run (default: 3 attempts). */
  readonly policy?: Omit<Policy, 'onError' | 'reserve'>
  readonly price?: Pricing
  /** How many tokens the model can take in all. Then steps say how full it is. */
  readonly contextWindow?: number
  /** Where results of tools that are too long are put (default: a folder for temporary files). */
  readonly spillDir?: string
}

export const OPTIONS: readonly (keyof ModelNodeOptions)[] = [
  'model',
  'fallback',
  'description',
  'system',
  'prompt',
  'schema',
  'jsonSchema',
  'reasks',
  'tools',
  'toolChoice',
  'rounds',
  'parallelTools',
  'maxOutputTokens',
  'cut',
  'settings',
  'policy',
  'price',
  'contextWindow',
  'spillDir',
  'baseURL',
  'apiKey',
  'headers',
]

/** What a model node does with its options: everything is there, and checked. */
export interface ModelPlan {
  /** For messages: `llm 'ask'`. */
  readonly what: string
  readonly id: string
  readonly models: readonly Model[]
  readonly place: ProviderPlace
  readonly system: string | undefined
  readonly answer: ValueSchema | undefined
  readonly reasks: number
  readonly tools: ReadonlyMap<string, Tool>
  readonly toolChoice: ToolChoice
  readonly rounds: number
  readonly parallelTools: boolean
  readonly maxOutputTokens: number | undefined
  readonly cut: 'fail' | 'keep'
  readonly settings: Readonly<Record<string, unknown>>
  readonly policy: Omit<Policy, 'onError' | 'reserve'>
  readonly price: Pricing | undefined
  readonly contextWindow: number | undefined
  readonly spillDir: string | undefined
}

export function planOf<Input, Value>(
  kind: string,
  id: string,
  options: ModelNodeOptions<Input, Value>,
  known: readonly string[] = OPTIONS,
): ModelPlan {
  const what = `${kind} '${id}'`
  if (!isLabel(id))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(id)} is not an id for a ${kind}. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  checkKnown(what, options, known)
  const { model, fallback = [], baseURL, apiKey, headers, schema, jsonSchema, system } = options
  if (system !== undefined && typeof system !== 'string') throw wrong(what, 'system is not a text.')
  for (const one of [model, ...fallback]) checkModel(what, one)
  if (options.policy?.timeout !== undefined) milliseconds(options.policy.timeout, `${what}: policy.timeout`)
  const tools = toolsOf(what, options.tools ?? [])
  return {
    what,
    id,
    models: [model, ...fallback],
    place: { ...(baseURL && { baseURL }), ...(apiKey && { apiKey }), ...(headers && { headers }) },
    system,
    answer: schema === undefined && jsonSchema === undefined ? undefined : answerOf(what, schema, jsonSchema),
    reasks: count(what, 'reasks', options.reasks, 2, 0),
    tools,
    toolChoice: choiceOf(what, options.toolChoice ?? 'auto', tools),
    rounds: count(what, 'rounds', options.rounds, 10, 1),
    parallelTools: options.parallelTools ?? true,
    maxOutputTokens: optionalCount(what, 'maxOutputTokens', options.maxOutputTokens),
    cut: options.cut ?? 'fail',
    settings: options.settings ?? {},
    policy: { attempts: 3, ...options.policy },
    price: options.price,
    contextWindow: optionalCount(what, 'contextWindow', options.contextWindow),
    spillDir: options.spillDir,
  }
}

/** A model's name for people and messages. */
export function modelName(model: Model): string {
  return typeof model === 'string' ? model : `${model.provider}:${model.modelId}`
}

function checkModel(what: string, model: unknown): void {
  if (typeof model === 'string') return void splitName(model)
  const made = model as Partial<ModelObject> | undefined | null
  if (typeof made?.specificationVersion === 'string' && typeof made.modelId === 'string') return
  throw wrong(what, 'model is neither a model object of the AI SDK nor a text such as anthropic:claude-sonnet-5.')
}

function answerOf(what: string, schema: Schema | undefined, jsonSchema: JsonSchema | undefined): ValueSchema {
  const made = valueSchema(`${what}: schema`, schema ?? (jsonSchema as JsonSchema), jsonSchema)
  if (made.json['type'] === 'object') return made
  throw wrong(what, 'schema is not that of an object, which is what models can be told to give. Put it into a field.')
}

function toolsOf(what: string, tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const named = new Map<string, Tool>()
  for (const one of tools) {
    if (typeof one?.name !== 'string' || one.runs === undefined)
      throw wrong(what, 'tools has something that is no tool. Make it one: tool(node, { description }).')
    if (named.has(one.name)) throw wrong(what, `two tools have the name '${one.name}'. Give one another name.`)
    named.set(one.name, one)
  }
  return named
}

function choiceOf(what: string, choice: ToolChoice, tools: ReadonlyMap<string, Tool>): ToolChoice {
  const known = choice === 'auto' || choice === 'required' || choice === 'none'
  if (known || (typeof choice === 'object' && tools.has(choice.tool))) return choice
  throw wrong(what, `toolChoice is ${JSON.stringify(choice)}; give 'auto', 'required', 'none' or { tool: name }.`)
}

function count(what: string, name: string, given: number | undefined, otherwise: number, least: number): number {
  const value = given ?? otherwise
  if (Number.isSafeInteger(value) && value >= least) return value
  throw wrong(what, `${name} is ${String(given)}; give a whole number from ${least}.`)
}

function optionalCount(what: string, name: string, given: number | undefined): number | undefined {
  return given === undefined ? undefined : count(what, name, given, given, 1)
}

export function wrong(what: string, problem: string): NerveError {
  return new NerveError('bad-option', `${what}: ${problem}`)
}
