/** The AI SDK and its providers: optional peers, loaded when a model is first called. No other file imports them. */
import { NerveError } from '../../base/nerve-error.ts'
import { importNamed } from '../import-named.ts'

/** The part of the AI SDK that is used: the same in its versions 6 and 7. */
export interface Ai {
  streamText(options: Readonly<Record<string, unknown>>): AiStream
  tool(options: Readonly<Record<string, unknown>>): unknown
  jsonSchema(schema: Readonly<Record<string, unknown>>): unknown
  readonly Output: { object(options: { readonly schema: unknown }): unknown }
}

export interface AiStream {
  readonly fullStream: AsyncIterable<AiPart>
  readonly response: PromiseLike<{
    readonly modelId?: string
    readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  }>
}

export interface AiPart {
  readonly type: string
  readonly [field: string]: unknown
}

/** A model of the AI SDK, of any version of its specification. */
export interface ModelObject {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
}

/** Where a provider is, when it is not where it usually is: a gateway, a server of one's own. */
export interface ProviderPlace {
  readonly baseURL?: string
  /** Default: the variable of the environment that the provider names. */
  readonly apiKey?: string
  readonly headers?: Readonly<Record<string, string>>
}

export async function loadAi(): Promise<Ai> {
  // Its warnings are live parts of the step; printed, they would be in the middle of what a surface prints.
  ;(globalThis as { AI_SDK_LOG_WARNINGS?: unknown }).AI_SDK_LOG_WARNINGS ??= false
  return loaded('ai', 'npm install ai', () => importNamed<Ai>('ai'))
}

const NAME = /^[a-z0-9][a-z0-9-]*$/

/** The model that a text such as `anthropic:claude-sonnet-5` stands for. */
export async function providerModel(text: string, place: ProviderPlace): Promise<ModelObject> {
  const { provider, model } = splitName(text)
  const name = `@ai-sdk/${provider}`
  const found = await loaded(name, `npm install ai ${name}`, () => importNamed<Record<string, unknown>>(name))
  const create = creatorOf(found)
  if (create === undefined)
    throw new NerveError('bad-option', `The package ${name} makes no models. Give the model as an object.`)
  // Servers that only speak a provider's language say what a streamed call cost when they are asked to.
  const made = create({ name: provider, includeUsage: true, ...place })
  return (made as (id: string) => ModelObject)(model)
}

export function splitName(text: string): { readonly provider: string; readonly model: string } {
  const at = text.indexOf(':')
  const [provider, model] = [text.slice(0, at), text.slice(at + 1)]
  if (at > 0 && model !== '' && NAME.test(provider)) return { provider, model }
  throw new NerveError(
    'bad-option',
    `${JSON.stringify(text)} is not the name of a model. Write PROVIDER:MODEL, such as anthropic:claude-sonnet-5, ` +
      'or give a model object of the AI SDK.',
  )
}

/** `createAnthropic`, `createOpenAI`: each package has one. */
function creatorOf(found: Readonly<Record<string, unknown>>): ((options: object) => unknown) | undefined {
  const name = Object.keys(found).find((key) => /^create[A-Z]/.test(key) && typeof found[key] === 'function')
  return name === undefined ? undefined : (found[name] as (options: object) => unknown)
}

async function loaded<Module>(name: string, install: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    throw new NerveError('package-missing', `Model nodes need the package ${name}. Install it: ${install}`, {
      data: { package: name, install },
      cause: error,
    })
  }
}
