/** Reads requests of Google's Gemini format. */
import type {
  JsonReply,
  ModelMessage,
  ModelPart,
  ModelRequest,
  ModelTool,
  Thinking,
  ThinkingPart,
  ToolChoice,
  ToolResultPart,
} from '../exchange.ts'
import { EFFORTS } from '../exchange.ts'
import {
  fieldsOf,
  listOf,
  looseFields,
  looseText,
  numberIn,
  present,
  refuse,
  textOf,
  textsIn,
  type Fields,
} from './fields.ts'
import type { RequestRoute } from './format.ts'
import { field, readGeminiPart, readResult, readSchema, signatureIn } from './gemini-parts.ts'
import { turns } from './turns.ts'

export function readGeminiRequest(given: unknown, route: RequestRoute): ModelRequest {
  const outer = fieldsOf(given, 'body')
  // Counting may wrap the request that is to be counted.
  const body = looseFields(field(outer, 'generateContentRequest') ?? outer)
  const config = camel(looseFields(field(body, 'generationConfig')))
  if ((numberIn(config, 'candidateCount') ?? 1) > 1)
    refuse('generationConfig.candidateCount', 'must be 1: the gateway gives one reply')
  const collected = turns()
  collected.add('system', readSystem(field(body, 'systemInstruction')))
  const calls = callBook()
  listOf(body['contents'] ?? refuse('contents', 'is missing'), 'contents').forEach((content, index) => {
    const at = `contents.${index}`
    const { role, parts } = fieldsOf(content, at)
    const turn = roleOf(role, `${at}.role`)
    const read = listOf(parts, `${at}.parts`).map((part, n) => readPart(fieldsOf(part, `${at}.parts.${n}`), calls))
    collected.add(turn, turn === 'assistant' ? joined(read) : read)
  })
  const { system, messages } = collected.done()
  const only = onlyHere(body, config)
  return {
    model: route.model ?? textOf(body['model'], 'model').replace(/^models\//, ''),
    system,
    messages,
    tools: listOf(body['tools'], 'tools').flatMap((tool, index) =>
      readTools(fieldsOf(tool, `tools.${index}`), `tools.${index}`),
    ),
    stream: route.operation === 'stream',
    ...readConfig(config),
    ...present({
      toolChoice: readChoice(
        camel(looseFields(field(looseFields(field(body, 'toolConfig')), 'functionCallingConfig'))),
      ),
      only: only.length === 0 ? undefined : { format: 'gemini' as const, fields: only },
    }),
  }
}

function readConfig(config: Fields): Partial<ModelRequest> {
  const at = (name: string): string => `generationConfig.${name}`
  return present({
    maxTokens: numberIn(config, 'maxOutputTokens', at('maxOutputTokens')),
    temperature: numberIn(config, 'temperature', at('temperature')),
    topP: numberIn(config, 'topP', at('topP')),
    topK: numberIn(config, 'topK', at('topK')),
    seed: numberIn(config, 'seed', at('seed')),
    presencePenalty: numberIn(config, 'presencePenalty', at('presencePenalty')),
    frequencyPenalty: numberIn(config, 'frequencyPenalty', at('frequencyPenalty')),
    stop: textsIn(config, 'stopSequences', at('stopSequences')),
    json: readJson(config),
    thinking: readThinking(config['thinkingConfig']),
  })
}

/** The fields under the names of the documentation, whichever spelling they came in. */
function camel(fields: Fields): Fields {
  const entries = Object.entries(fields)
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace(/(?<=.)_(\w)/g, (_, letter: string) => letter.toUpperCase()), value]),
  )
}

/** Clients send back the pieces of a stream as they came: texts in a row are one, and so are thoughts up to their proof. */
function joined(parts: readonly ModelPart[]): readonly ModelPart[] {
  const all: ModelPart[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if (part.type === 'text' && last?.type === 'text') all[all.length - 1] = { ...last, text: last.text + part.text }
    else if (part.type === 'thinking' && last?.type === 'thinking' && isOpen(last) && part.hidden === undefined) {
      all[all.length - 1] = { ...part, text: last.text + part.text }
    } else all.push(part)
  }
  return all
}

function isOpen({ signature, hidden }: ThinkingPart): boolean {
  return signature === undefined && hidden === undefined
}

/** What changes the answer and has no counterpart elsewhere. */
function onlyHere(body: Fields, config: Fields): readonly string[] {
  const modalities = listOf(config['responseModalities'], 'generationConfig.responseModalities')
  return [
    ...(field(body, 'cachedContent') === undefined ? [] : ['cachedContent']),
    ...(modalities.some((one) => one !== 'TEXT') ? ['generationConfig.responseModalities'] : []),
    ...(config['responseLogprobs'] === true ? ['generationConfig.responseLogprobs'] : []),
  ]
}

function readSystem(system: unknown): readonly ModelPart[] {
  if (system === undefined || system === null) return []
  if (typeof system === 'string') return [{ type: 'text', text: system }]
  const parts = listOf(fieldsOf(system, 'systemInstruction')['parts'], 'systemInstruction.parts')
  return parts.map((part) => ({ type: 'text', text: looseText(looseFields(part)['text']) }))
}

function roleOf(role: unknown, at: string): ModelMessage['role'] {
  if (role === 'model') return 'assistant'
  if (role === undefined || role === 'user' || role === 'function') return 'user'
  return refuse(at, 'must be user or model')
}

/** Which calls there were, and which are without a result: results without an id belong to the first such of their name. */
interface CallBook {
  readonly ids: Set<string>
  readonly open: { readonly id: string; readonly name: string }[]
}

function callBook(): CallBook {
  return { ids: new Set(), open: [] }
}

/** Ids follow from the order of the calls, so that the same conversation has the same ids when it comes again, longer. */
export function callId(before: number): string {
  return `call_${before}`
}

function readPart(part: Fields, calls: CallBook): ModelPart {
  const call = field(part, 'functionCall')
  const response = field(part, 'functionResponse')
  if (response !== undefined) return readResponse(looseFields(response), calls)
  if (call === undefined) return readGeminiPart(part) ?? { type: 'other', format: 'gemini', value: part }
  const { id, name, args } = looseFields(call)
  const own = looseText(id) || callId(calls.ids.size)
  calls.ids.add(own)
  calls.open.push({ id: own, name: looseText(name) })
  return { type: 'tool-call', id: own, name: looseText(name), input: args ?? {}, ...signatureIn(part) }
}

function readResponse(response: Fields, calls: CallBook): ToolResultPart {
  const { id, name } = response
  const byId = calls.open.findIndex((call) => call.id === id)
  const at = byId === -1 ? calls.open.findIndex((call) => call.name === name) : byId
  const [call] = at === -1 ? [] : calls.open.splice(at, 1)
  return readResult(response, call?.id ?? (looseText(id) || looseText(name)))
}

function readTools(tool: Fields, at: string): readonly ModelTool[] {
  const declared = field(tool, 'functionDeclarations')
  if (declared === undefined) {
    return Object.keys(tool).map((name) => ({
      name,
      input: {},
      other: { format: 'gemini', value: { [name]: tool[name] } },
    }))
  }
  return listOf(declared, `${at}.functionDeclarations`).map((given, index) => {
    const declaration = fieldsOf(given, `${at}.functionDeclarations.${index}`)
    const schema = field(declaration, 'parametersJsonSchema') ?? readSchema(declaration['parameters'])
    const description = looseText(declaration['description'])
    return {
      name: textOf(declaration['name'], `${at}.functionDeclarations.${index}.name`),
      input: schema ?? { type: 'object', properties: {} },
      ...(description === '' ? {} : { description }),
    }
  })
}

function readChoice(config: Fields): ToolChoice | undefined {
  const allowed = textsIn(config, 'allowedFunctionNames', 'toolConfig.functionCallingConfig.allowedFunctionNames') ?? []
  const [only] = allowed
  switch (config['mode']) {
    case 'NONE':
      return 'none'
    case 'ANY':
      if (only === undefined) return 'required'
      return allowed.length === 1 ? { tool: only } : { tools: allowed, required: true }
    case 'AUTO':
    case 'VALIDATED':
      return allowed.length === 0 ? 'auto' : { tools: allowed, required: false }
    default:
      return undefined
  }
}

function readJson(config: Fields): JsonReply | undefined {
  if (config['responseMimeType'] !== 'application/json') return undefined
  const schema = config['responseJsonSchema'] ?? config['_responseJsonSchema'] ?? readSchema(config['responseSchema'])
  return schema === undefined ? {} : { schema }
}

function readThinking(given: unknown): Thinking | undefined {
  if (given === undefined || given === null) return undefined
  const config = camel(looseFields(given))
  const budget = numberIn(config, 'thinkingBudget', 'generationConfig.thinkingConfig.thinkingBudget')
  const level = looseText(config['thinkingLevel']).toLowerCase()
  const show = typeof config['includeThoughts'] === 'boolean' ? config['includeThoughts'] : undefined
  const effort = budget === 0 ? 'none' : EFFORTS.find((one) => one === level)
  return present({ effort, budget: budget !== undefined && budget > 0 ? budget : undefined, show })
}
