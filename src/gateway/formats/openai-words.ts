/** Words that OpenAI's two formats share. Where they differ, Chat's are brought into the flatter shape of Responses first. */
import type {
  FailureKind,
  JsonReply,
  ModelFailure,
  ModelRequest,
  ModelTool,
  Thinking,
  ToolChoice,
  WireFormat,
} from '../exchange.ts'
import { EFFORTS, VERBOSITIES } from '../exchange.ts'
import { errorIn, kindOfStatus, messageIn, readFailureAs, retryHeaders, saysContextFull, statusOf } from './failures.ts'
import {
  flagIn,
  isFields,
  listOf,
  looseFields,
  looseText,
  present,
  refuse,
  textIn,
  textOf,
  type Fields,
} from './fields.ts'
import type { FailedAnswer, FailureAnswer, ListedModel } from './format.ts'

export function readOpenaiTool(tool: Fields, at: string, format: WireFormat): ModelTool {
  const name = textOf(tool['name'] ?? tool['type'], `${at}.name`)
  const description = textIn(tool, 'description', `${at}.description`)
  if (tool['type'] === 'function') {
    const strict = flagIn(tool, 'strict', `${at}.strict`)
    const input = isFields(tool['parameters']) ? tool['parameters'] : { type: 'object', properties: {} }
    // Not strict is what it is when nothing is said.
    return { name, input, ...present({ description, strict: strict === true ? strict : undefined }) }
  }
  if (tool['type'] !== 'custom') return { name, input: {}, other: { format, value: tool } }
  const { type, syntax, definition } = looseFields(tool['format'])
  const grammar = { syntax: looseText(syntax), definition: looseText(definition) }
  return { name, input: {}, freeform: type === 'grammar' ? { grammar } : {}, ...present({ description }) }
}

export function readOpenaiChoice(choice: unknown): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  if (!isFields(choice)) return refuse('tool_choice', 'must be auto, none, required or a tool')
  if (choice['type'] === 'allowed_tools') {
    const tools = listOf(choice['tools'], 'tool_choice.tools').map((tool) =>
      textOf(looseFields(tool)['name'], 'tool_choice.tools'),
    )
    return { tools, required: choice['mode'] === 'required' }
  }
  return { tool: textOf(choice['name'] ?? choice['type'], 'tool_choice.name') }
}

export function readEffort(effort: unknown, field: string): Thinking | undefined {
  if (effort === undefined || effort === null) return undefined
  const found = EFFORTS.find((one) => one === effort)
  return found === undefined ? refuse(field, `must be one of ${EFFORTS.join(', ')}`) : { effort: found }
}

export function readVerbosity(verbosity: unknown): ModelRequest['verbosity'] {
  return VERBOSITIES.find((one) => one === verbosity)
}

/** `auto` is what it is when nothing is said. */
export function readDetail(part: Fields): { readonly detail?: string } {
  const detail = looseText(part['detail'])
  return detail === '' || detail === 'auto' ? {} : { detail }
}

/** The nearest effort to a budget, for formats that know no budget. */
export function effortOf({ effort, budget }: Thinking): Thinking['effort'] {
  if (effort !== undefined || budget === undefined) return effort
  if (budget <= 0) return 'none'
  return budget <= 4_096 ? 'low' : budget <= 16_384 ? 'medium' : 'high'
}

/** The formats demand a name for the schema. */
const NO_NAME = 'reply'

export function readJsonReply(format: Fields): JsonReply | undefined {
  if (format['type'] === 'json_object') return {}
  if (format['type'] !== 'json_schema') return undefined
  return present({
    schema: format['schema'],
    name: format['name'] === NO_NAME ? undefined : textIn(format, 'name', 'response_format.name'),
    description: textIn(format, 'description', 'response_format.description'),
    strict: flagIn(format, 'strict', 'response_format.strict'),
  })
}

export function writeJsonReply({ schema, name = NO_NAME, description, strict }: JsonReply): Fields {
  return { name, ...present({ description, schema, strict }) }
}

const CODES: Readonly<Record<FailureKind, readonly [type: string, code: string | null]>> = {
  'bad-request': ['invalid_request_error', null],
  'too-large': ['invalid_request_error', 'request_too_large'],
  unauthorized: ['invalid_request_error', 'invalid_api_key'],
  forbidden: ['invalid_request_error', 'permission_denied'],
  'not-found': ['invalid_request_error', 'model_not_found'],
  'rate-limited': ['rate_limit_error', 'rate_limit_exceeded'],
  budget: ['insufficient_quota', 'insufficient_quota'],
  'context-full': ['invalid_request_error', 'context_length_exceeded'],
  overloaded: ['server_error', 'server_is_overloaded'],
  timeout: ['server_error', 'timeout'],
  server: ['server_error', 'server_error'],
}

/** What a stream of Responses says of a request that is wrong; its errors must have a code. */
export const BAD_PROMPT = 'invalid_prompt'

export function readOpenaiFailure(answer: FailedAnswer): ModelFailure {
  const error = errorIn(answer.body)
  const said = [error['code'], error['type']]
  const known = Object.entries(CODES).find(([, [, code]]) => code !== null && said.includes(code))
  const kind = (known?.[0] as FailureKind | undefined) ?? kindOfStatus(answer.status || kindStatus(error))
  const full = kind === 'bad-request' && saysContextFull(messageIn(answer))
  return readFailureAs(answer, full ? 'context-full' : kind, error['param'] ?? undefined)
}

/** In a stream there is no status: some providers write it into the code. */
function kindStatus(error: Fields): number {
  const code = Number(error['code'] ?? undefined)
  if (Number.isInteger(code)) return code
  return error['type'] === 'invalid_request_error' || error['code'] === BAD_PROMPT ? 400 : 500
}

export function writeOpenaiFailure(failure: ModelFailure, now: number): FailureAnswer {
  const status = statusOf(failure, { budget: 429 })
  return { status, headers: retryHeaders(failure, now), body: { error: writeOpenaiError(failure) } }
}

export function writeOpenaiError({ kind, message, field }: ModelFailure): Fields {
  const [type, code] = CODES[kind]
  return { message, type, param: field ?? null, code }
}

export function writeOpenaiModel({ id, createdAt = 0 }: ListedModel): Fields {
  return { id, object: 'model', created: Math.floor(createdAt / 1_000), owned_by: 'nerve' }
}

export function writeOpenaiModels(models: readonly ListedModel[]): Fields {
  return { object: 'list', data: models.map(writeOpenaiModel) }
}
