/** Lines of the contract as tools for models. Which ones is said here; what they take and what they are for, the contract says. */
import type { CallToolResult, InputRequiredResult, McpServer, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { isNerveError } from '../../base/nerve-error.ts'
import { contract, isSafe, type CallName, type Input } from '../../host/contract/contract.ts'
import { name } from '../../host/contract/schemas.ts'
import { SCOPES, type Scope } from '../../host/contract/scopes.ts'
import { errorOffWire, errorOnWire } from '../../host/contract/wire.ts'
import type { Client } from '../client/client.ts'
import { callRun } from './run-call.ts'
import type { Standing } from './run-wait.ts'
import { errorResult, resultOf } from './tool-result.ts'

export const OFFERED = [
  'definitions.list',
  'definitions.explain',
  'runs.start',
  'runs.list',
  'runs.get',
  'runs.journal',
  'runs.wait',
  'runs.pause',
  'runs.resume',
  'runs.cancel',
  'signals.send',
  'questions.list',
  'questions.answer',
  'nodes.list',
  'nodes.create',
  'nodes.execute',
  'nodes.fork',
  'nodes.stop',
] as const satisfies readonly CallName[]

export interface ToolParts {
  readonly client: Client
  readonly server: McpServer
  /** What may be done here. Tools that need more are not offered. */
  readonly scope: Scope
  /** Whether nodes may be made: only for callers who could run programs anyway. */
  readonly local: boolean
  /** How long a call waits for its run when it does not say, in ms. */
  readonly wait: number
  readonly onProblem: (error: unknown) => void
}

export type ToolAnswer = CallToolResult | InputRequiredResult

/** `runs.start` is the tool `runs_start`: some clients take no dots. */
export function toolName(name: CallName): string {
  return name.replaceAll('.', '_')
}

/** True when callers with this scope may ask for it. */
export function isAllowed(name: CallName, { scope, local }: Pick<ToolParts, 'scope' | 'local'>): boolean {
  const entry = contract[name]
  const isLocal = 'local' in entry && entry.local === true
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(entry.scope) && (local || !isLocal)
}

export function addTools(parts: ToolParts): void {
  const waiting = waitingTools(parts)
  for (const name of OFFERED.filter((one) => isAllowed(one, parts))) {
    const { summary, input } = contract[name]
    const config = { description: summary, annotations: { readOnlyHint: isSafe(name) } }
    const waits = name in waiting ? waiting[name as keyof typeof waiting] : undefined
    const taken = name === 'runs.start' ? BY_NAME : input
    const inputSchema: z.ZodType = waits === undefined ? taken : taken.extend(waits.more)
    const answer = (given: unknown, context: ServerContext): Promise<ToolAnswer> =>
      waits === undefined ? call(parts, name, given, context) : waits.answer(given as never, context)
    parts.server.registerTool(toolName(name), { ...config, inputSchema }, (given, context) =>
      guarded(parts, context, () => answer(given, context)),
    )
  }
}

/** What goes wrong is told to the caller as the result of the tool. */
export async function guarded(
  { onProblem }: ToolParts,
  { mcpReq }: ServerContext,
  work: () => Promise<ToolAnswer>,
): Promise<ToolAnswer> {
  try {
    return await work()
  } catch (error) {
    // What is not known is ours to hear of, unless it comes from a caller who has gone.
    if (!isNerveError(error) && !mcpReq.signal.aborted) onProblem(error)
    return errorResult(error)
  }
}

async function call(
  { client }: ToolParts,
  name: CallName,
  given: unknown,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  return resultOf(await client.call(name, given as never, { signal: mcpReq.signal }))
}

function timeoutOf(wait: number) {
  const about = `how many milliseconds the call waits at most (default ${wait})`
  return z.int().min(0).max(600_000).optional().describe(about)
}

/** A model starts what people have made known, and no file of its choice. */
const BY_NAME = contract['runs.start'].input
  .omit({ file: true })
  .extend({ definition: name.describe('its name: definitions_list has them') })

/** Without a word about it, some models give JSON in a text. */
const INPUT = z.unknown().optional().describe('any JSON value, as it is: an object is given as an object')
const WAIT = z.boolean().optional().describe('wait for the run, and let it ask its questions here (default false)')
const UNTIL = z
  .enum(['end', 'rest'])
  .optional()
  .describe(
    'end: also while others answer its questions. rest: also when it waits for a person, a time or a signal. ' +
      'Without: until it ends, or asks what cannot be asked here',
  )

/** Those that wait for a run. */
function waitingTools(parts: ToolParts) {
  const { client, server, wait } = parts
  const timeout = timeoutOf(wait)
  const shared = { client, server, mayAnswer: isAllowed('questions.answer', parts), result: tellStanding(parts) }
  interface Timed {
    readonly timeout?: number | undefined
  }
  return {
    'runs.start': {
      more: { input: INPUT, wait: WAIT, timeout },
      answer: async (given: Input<'runs.start'> & Timed & { readonly wait?: boolean }, context: ServerContext) => {
        const { wait: waits, timeout: most = wait, ...input } = given
        const begin = async (): Promise<string> => (await client.call('runs.start', input)).run
        if (waits !== true) return resultOf({ run: await begin() })
        return callRun({ ...shared, context, begin, timeout: most })
      },
    },
    'runs.wait': {
      more: { until: UNTIL, timeout },
      answer: async ({ run, until, timeout: most = wait }: Input<'runs.wait'>, context: ServerContext) => {
        const begin = async (): Promise<string> => (await client.runs.get(run)).run
        return callRun({ ...shared, context, begin, until, timeout: most })
      },
    },
    'nodes.execute': {
      more: { input: INPUT, timeout },
      answer: async (given: Input<'nodes.execute'> & Timed, context: ServerContext) => {
        const { wait: waits, timeout: most = wait, ...input } = given
        const begin = async (): Promise<string> => (await client.call('nodes.execute', { ...input, wait: false })).run
        if (waits === false) return resultOf({ run: await begin() })
        return callRun({ ...shared, context, begin, timeout: most })
      },
    },
  }
}

/** How a run stands, and what can be done about it. */
function tellStanding(parts: ToolParts): (standing: Standing) => CallToolResult {
  return (standing) => resultOf(describeStanding(standing, parts))
}

export function describeStanding(standing: Standing, parts: Pick<ToolParts, 'scope' | 'local'>): object {
  const { questions, signals, error, ...end } = standing
  if (error !== undefined) return { ...end, error: errorOnWire(errorOffWire(error)) }
  if (end.ended) return end
  return {
    ...end,
    ...(questions.length === 0 ? {} : { questions }),
    ...(signals.length === 0 ? {} : { signals }),
    next: nextOf(standing, parts),
  }
}

function nextOf({ run, status, questions, signals }: Standing, parts: Pick<ToolParts, 'scope' | 'local'>): string {
  const [question] = questions
  if (question !== undefined && !isAllowed('questions.answer', parts)) return 'A person has to answer its question.'
  if (question !== undefined) {
    const choices = question.choices === undefined ? '' : `, one of ${JSON.stringify(question.choices)}`
    const { description } = question.free ?? {}
    const beside = typeof description === 'string' ? ` (${description})` : ''
    return (
      'It waits for an answer. Ask the person you work for, then call questions_answer with ' +
      `question ${JSON.stringify(question.id)} and value${choices}${beside}. After that: runs_wait.`
    )
  }
  const resume = isAllowed('runs.resume', parts)
  if (status === 'paused') return resume ? `It is paused. Call runs_resume to go on.` : 'It is paused.'
  if (status === 'exhausted')
    return resume ? 'It has spent its budget. Call runs_resume with a larger one.' : 'It has spent its budget.'
  if (signals.length > 0 && isAllowed('signals.send', parts))
    return `It waits for the signal ${signals.join(', ')}: signals_send. It can also come from elsewhere: runs_wait.`
  return `It goes on without you. Call runs_wait with run ${JSON.stringify(run)} to hear more.`
}
