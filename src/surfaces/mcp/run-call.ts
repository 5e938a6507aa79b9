/**
 * A call of a tool that waits for a run. What the run asks is asked of the person at the client, when it can: the call is
 * answered with what it needs, and comes again with the answers and with its state.
 *
 * The state is not signed, and so is still good after this process: it names a run and questions, and whoever sends it could
 * name them to the other tools, with the same rights.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import type { Client } from '../client/client.ts'
import type { EventItem } from '../client/events.ts'
import { answersIn, formOf } from './question-form.ts'
import { waitForRun, type Standing } from './run-wait.ts'

export interface RunCall {
  readonly client: Client
  readonly server: McpServer
  readonly context: ServerContext
  /** Whether answers may be given here. */
  readonly mayAnswer: boolean
  /** Gives the run to wait for. Called once, however often the call comes again. */
  readonly begin: () => Promise<string>
  /** Until when: without it, until the run ends or asks what cannot be asked here. */
  readonly until?: 'end' | 'rest' | undefined
  readonly timeout: number
  readonly result: (standing: Standing) => CallToolResult
}

const State = z.strictObject({
  run: z.string().max(200),
  /** Questions that the person did not want to answer. */
  passed: z.array(z.string().max(300)).max(1_000),
  /** How often the call has come back. */
  round: z.int().min(1),
  /** How much progress was told. */
  told: z.int().min(0),
})
type State = z.output<typeof State>

/** Clients of either era lose patience with a call that comes back more often. What is open then is told. */
const MOST_ROUNDS = 8

export async function callRun(call: RunCall): Promise<CallToolResult | InputRequiredResult> {
  const { client, context, until, result } = call
  const before = stateOf(context)
  const run = before?.run ?? (await call.begin())
  const heard = before === undefined || !call.mayAnswer ? NOTHING : await answer(client, context)
  const passed = new Set([...(before?.passed ?? []), ...heard.passed])
  const round = before?.round ?? 0
  const mayAsk = call.mayAnswer && round < MOST_ROUNDS && canElicit(call)
  const isNews = (id: string): boolean => !passed.has(id)
  const progress = progressOf(context, before?.told ?? 0)
  const standing = await waitForRun(client, {
    run,
    until: until ?? 'end',
    // Who said no wants to go on with something else.
    timeout: heard.passed.length > 0 && !heard.answered ? 0 : call.timeout,
    signal: context.mcpReq.signal,
    stopsAt: (id) => (mayAsk && isNews(id)) || (until === undefined && !mayAsk),
    onEvent: progress.tell,
  })
  const asked = mayAsk ? standing.questions.filter(({ id }) => isNews(id)) : []
  if (asked.length === 0) return result(standing)
  const forms = asked.map((one) => [one.id, inputRequired.elicit(formOf(one, heard.problems.get(one.id)))] as const)
  const state: State = { run, passed: [...passed], round: round + 1, told: progress.told() }
  return inputRequired({ inputRequests: Object.fromEntries(forms), requestState: JSON.stringify(state) })
}

function stateOf({ mcpReq }: ServerContext): State | undefined {
  const text = mcpReq.requestState<string>()
  if (text === undefined) return undefined
  try {
    return State.parse(JSON.parse(text))
  } catch (cause) {
    throw new NerveError('bad-input', 'The state that came back with the answers is not one of this server.', { cause })
  }
}

function canElicit({ context, server }: RunCall): boolean {
  // Said with each request, or once in the beginning: that depends on the revision of the protocol.
  const said = context.mcpReq.envelope as Readonly<Record<string, ClientCapabilities | undefined>> | undefined
  // oxlint-disable-next-line typescript/no-deprecated -- for the revisions with a handshake there is nothing else
  const capabilities = said?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities()
  const { elicitation } = capabilities ?? {}
  // Without a word about how, it means forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

interface Heard {
  readonly answered: boolean
  readonly passed: readonly string[]
  /** What was wrong with answers, by question. */
  readonly problems: ReadonlyMap<string, string>
}
const NOTHING: Heard = { answered: false, passed: [], problems: new Map() }

/** Gives the answers that came. What somebody else has answered in the meantime is no problem of this call. */
async function answer(client: Client, { mcpReq }: ServerContext): Promise<Heard> {
  const ids = Object.keys(mcpReq.inputResponses ?? {})
  const passed: string[] = []
  const problems = new Map<string, string>()
  for (const id of ids) {
    const response = inputResponse(mcpReq.inputResponses, id)
    const isAnswer = response.kind === 'elicit' && response.action === 'accept'
    const problem = isAnswer ? await giveAnswer(client, id, answersIn(response.content)) : undefined
    if (!isAnswer) passed.push(id)
    else if (problem !== undefined) problems.set(id, problem)
  }
  return { answered: ids.length > passed.length, passed, problems }
}

const WRONG = ['answer-rejected', 'answer-unclear', 'bad-input'] as const
const LATE = ['already-answered', 'not-found', 'run-ended'] as const

/** What is wrong with the answer; undefined when it was taken, or is not needed any more. */
async function giveAnswer(client: Client, question: string, values: readonly unknown[]): Promise<string | undefined> {
  let problem: string | undefined
  for (const value of values) {
    try {
      await client.questions.answer(question, value)
      return undefined
    } catch (error) {
      if (LATE.some((code) => isNerveError(error, code))) return undefined
      if (!WRONG.some((code) => isNerveError(error, code))) throw error
      problem ??= (error as NerveError).message
    }
  }
  return problem ?? 'There was no answer in the form.'
}

interface Progress {
  readonly tell: ((event: EventItem) => void) | undefined
  readonly told: () => number
}

/** Progress as the protocol has it: a number that grows, and a word about it. How much is to come, nobody knows. */
function progressOf({ mcpReq }: ServerContext, before: number): Progress {
  const progressToken = mcpReq._meta?.progressToken
  let progress = before
  if (progressToken === undefined) return { tell: undefined, told: () => progress }
  const tell = (event: EventItem): void => {
    progress += 1
    const message = 'path' in event && event.path !== '' ? `${event.type} ${event.path}` : event.type
    const params = { progressToken, progress, message }
    // Who does not listen any more has gone, and the call ends for that reason.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
  return { tell, told: () => progress }
}
