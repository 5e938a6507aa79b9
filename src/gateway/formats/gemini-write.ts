/** Writes requests in Google's Gemini format, for a provider that speaks it. */
import type { Effort, ModelMessage, ModelPart, ModelRequest, ModelTool, Thinking, ToolChoice } from '../exchange.ts'
import { present, type Fields } from './fields.ts'
import type { OutgoingRequest } from './format.ts'
import { writeGeminiPart, writeProof, writeResult } from './gemini-parts.ts'
import { flatName, FREEFORM_SCHEMA, inputObject, toolNamed, translatable } from './turns.ts'

export function writeGeminiRequest(given: ModelRequest): OutgoingRequest {
  const request = translatable(given, 'gemini')
  const config = writeConfig(request)
  const body = { ...writeInput(request), ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }) }
  return { path: pathTo(request, request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'), body }
}

export function writeGeminiCount(given: ModelRequest): OutgoingRequest {
  const request = translatable(given, 'gemini')
  const model = `models/${request.model.replace(/^models\//, '')}`
  return { path: pathTo(request, 'countTokens'), body: { generateContentRequest: { model, ...writeInput(request) } } }
}

function pathTo({ model }: ModelRequest, operation: string): string {
  return `/v1beta/models/${encodeURI(model.replace(/^models\//, ''))}:${operation}`
}

function writeInput(request: ModelRequest): Fields {
  const { system, tools, toolChoice } = request
  return {
    contents: request.messages.flatMap((message) => writeContent(message, request.model)),
    ...present({
      systemInstruction: system.length === 0 ? undefined : { parts: system.map((text) => ({ text })) },
      tools: tools.length === 0 ? undefined : writeTools(tools),
      toolConfig: toolChoice === undefined ? undefined : { functionCallingConfig: writeChoice(toolChoice, tools) },
    }),
  }
}

function writeConfig(request: ModelRequest): Fields {
  const { json, thinking } = request
  return present({
    maxOutputTokens: request.maxTokens,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    seed: request.seed,
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    stopSequences: request.stop,
    responseMimeType: json === undefined ? undefined : 'application/json',
    responseJsonSchema: json?.schema,
    thinkingConfig: thinking === undefined ? undefined : writeThinking(thinking, request.model),
  })
}

const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 512,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}

/** Newer models know levels, older ones budgets; -1 is as much as the model likes. */
function writeThinking({ budget, effort, show }: Thinking, model: string): Fields {
  const shown = present({ includeThoughts: show })
  if (budget !== undefined) return { thinkingBudget: budget, ...shown }
  if (effort === undefined) return { thinkingBudget: -1, ...shown }
  if (effort === 'none') return { thinkingBudget: 0, ...shown }
  if (/gemini-[12]\b/.test(model)) return { thinkingBudget: BUDGETS[effort], ...shown }
  const level = effort === 'xhigh' || effort === 'max' ? 'high' : effort
  return { thinkingLevel: level.toUpperCase(), ...shown }
}

function writeTools(tools: readonly ModelTool[]): readonly unknown[] {
  const declared = tools.filter(({ other }) => other === undefined).map(writeTool)
  const others = tools.flatMap(({ other }) => (other === undefined ? [] : [other.value]))
  return [...(declared.length === 0 ? [] : [{ functionDeclarations: declared }]), ...others]
}

function writeTool(tool: ModelTool): Fields {
  const schema = tool.freeform === undefined ? tool.input : FREEFORM_SCHEMA
  return { name: flatName(tool), ...present({ description: tool.description }), parametersJsonSchema: schema }
}

function writeChoice(choice: ToolChoice, tools: readonly ModelTool[]): Fields {
  const named = (name: string): string => flatName(toolNamed(name, tools) ?? { name })
  if (choice === 'auto') return { mode: 'AUTO' }
  if (choice === 'none') return { mode: 'NONE' }
  if (choice === 'required') return { mode: 'ANY' }
  if ('tool' in choice) return { mode: 'ANY', allowedFunctionNames: [named(choice.tool)] }
  return { mode: choice.required ? 'ANY' : 'VALIDATED', allowedFunctionNames: choice.tools.map(named) }
}

/** Instructions in the middle of a conversation are the user's here: the format has no other place for them. */
function writeContent({ role, parts }: ModelMessage, model: string): readonly unknown[] {
  const first = parts.find(({ type }) => type === 'tool-call')
  const written = parts.flatMap((part) => writePart(part, part === first ? model : undefined) ?? [])
  return written.length === 0 ? [] : [{ role: role === 'assistant' ? 'model' : 'user', parts: written }]
}

/** Of calls that are made at once only the first needs a proof: it is told the model, which decides about that. */
function writePart(part: ModelPart, model: string | undefined): Fields | undefined {
  if (part.type === 'tool-result') return writeResult(part)
  if (part.type !== 'tool-call') return writeGeminiPart(part)
  const call = { id: part.id, name: flatName(part), args: inputObject(part.input) }
  return { functionCall: call, ...writeProof(part.signature, model) }
}
