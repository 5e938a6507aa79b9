/**
 * A model that says what a script says. The reply is a function of the transcript, so that retries, resumes, forks and restarts need
 * no memory here. The one exception is how often a request has failed, because no transcript tells that.
 */
import { systemClock, type Clock } from '../../base/clock.ts'
import { milliseconds } from '../../base/duration.ts'
import { estimateInput, estimateText, type Answer, type Backend, type BackendCall } from '../backend.ts'
import type { ModelFailure, ModelPart, ModelReply, ModelRequest, ReplyEvent } from '../exchange.ts'
import { kindOfStatus } from '../formats/failures.ts'
import { eventsOfReply } from '../formats/reply-events.ts'
import { pause } from '../pause.ts'
import { inPieces } from '../pieces.ts'
import { keyOf, normalRequest } from '../request-key.ts'
import { planReply, type Planned } from '../script/plan.ts'
import { checkScript } from '../script/read-script.ts'
import type { Pace, Script, ScriptCall, ScriptFailure, ScriptFunction, ScriptStep } from '../script/script.ts'
import { resolveCall } from '../script/tool-roles.ts'
import { viewOf } from '../script/transcript.ts'

export interface ScriptedOptions {
  readonly name?: string
  readonly clock?: Clock
}

const SIDE = 'A scripted session'
/** More different failing requests than any test has; older ones are forgotten. */
const MOST_COUNTED = 10_000

/** A back end that follows a script: data, as in YAML, or a function of the transcript. */
export function scripted(script: Script | ScriptFunction, options: ScriptedOptions = {}): Backend {
  const { name = 'scripted', clock = systemClock } = options
  const data: Script = typeof script === 'function' ? { rules: [] } : checkScript(script)
  const plan =
    typeof script === 'function'
      ? (request: ModelRequest) => planned(script(request, viewOf(request)))
      : (request: ModelRequest) => planReply(script, request)
  const failures = new Map<string, number>()
  return {
    name,
    ...(data.models === undefined ? {} : { models: data.models }),
    async answer(request, call) {
      const found = plan(request)
      if (found === undefined) return { type: 'failed', failure: noRule(request) }
      const key = keyOf(normalRequest(request))
      const { step } = found
      if (step.wait !== undefined) await pause(milliseconds(step.wait, 'wait'), clock, call.signal)
      const failure = dueFailure(step, () => countUp(failures, `${call.client} ${key}`))
      const fails = failure && modelFailure(failure, clock.now())
      if (fails !== undefined && (failure?.after === undefined || !request.stream))
        return { type: 'failed', failure: fails }
      const reply = write(found, request, { key, data })
      const pace = { ...data.stream, ...step.stream }
      return stream(reply, pace, { request, call, clock, ...(fails && { fails, after: failure?.after ?? 0 }) })
    },
    countTokens: (request) => Promise.resolve(estimateInput(request)),
  }
}

function planned(step: ScriptStep | undefined): Planned | undefined {
  return step === undefined ? undefined : { step, fill: (text) => text }
}

function noRule(request: ModelRequest): ModelFailure {
  const { user } = viewOf(request)
  const asked = user.length > 200 ? `${user.slice(0, 200)}…` : user
  const message = `No rule of the script matches this request. The user said: ${JSON.stringify(asked)}. Add a rule, or \`otherwise\`.`
  return { kind: 'bad-request', status: 400, message }
}

function countUp(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1
  counts.delete(key)
  counts.set(key, count)
  const oldest = counts.size > MOST_COUNTED ? counts.keys().next().value : undefined
  if (oldest !== undefined) counts.delete(oldest)
  return count
}

function dueFailure({ fail }: ScriptStep, count: () => number): ScriptFailure | undefined {
  if (fail === undefined) return undefined
  const failure = typeof fail === 'number' ? { status: fail } : fail
  return failure.times === undefined || count() <= failure.times ? failure : undefined
}

function modelFailure(failure: ScriptFailure, now: number): ModelFailure {
  const { status, message = `The script fails here with ${status}.`, retryAfter } = failure
  const retryAt = retryAfter === undefined ? {} : { retryAt: now + milliseconds(retryAfter, 'retryAfter') }
  return { kind: kindOfStatus(status), status, message, ...retryAt }
}

interface Writing {
  readonly key: string
  readonly data: Script
}

function write({ step, fill }: Planned, request: ModelRequest, { key, data }: Writing): ModelReply {
  const calls =
    step.call === undefined ? [] : Array.isArray(step.call) ? (step.call as ScriptCall[]) : [step.call as ScriptCall]
  const parts: ModelPart[] = []
  if (step.think !== undefined) parts.push({ type: 'thinking', text: fill(step.think) })
  if (step.say !== undefined) parts.push({ type: 'text', text: fill(step.say) })
  if (calls.length > 0 && request.tools.length === 0) parts.push({ type: 'text', text: data.side ?? SIDE })
  else for (const [index, one] of calls.entries()) parts.push(callPart(fillIn(one, fill), request, `${key}_${index}`))
  const called = parts.some(({ type }) => type === 'tool-call')
  const output = parts.reduce((sum, part) => sum + estimateText('text' in part ? part.text : JSON.stringify(part)), 0)
  return {
    id: `scripted_${key}`,
    model: request.model,
    parts,
    stop: step.stop ?? (called ? 'tool' : 'end'),
    usage: { input: estimateInput(request), output, ...data.usage, ...step.usage },
  }
}

function callPart(call: ScriptCall, { tools }: ModelRequest, id: string): ModelPart {
  const resolved = resolveCall(call, tools)
  if (resolved !== undefined) return { type: 'tool-call', id: `call_${id}`, ...resolved }
  const wanted = 'tool' in call ? call.tool : Object.keys(call)[0]
  const offered = tools.map(({ name }) => name).join(', ')
  return { type: 'text', text: `The script wants to call '${wanted}', and no tool can do it. Offered: ${offered}.` }
}

function fillIn<Value>(value: Value, fill: (text: string) => string): Value {
  if (typeof value === 'string') return fill(value) as Value
  if (Array.isArray(value)) return value.map((one: unknown) => fillIn(one, fill)) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fillIn(one as unknown, fill)])) as Value
}

interface Streaming {
  readonly request: ModelRequest
  readonly call: BackendCall
  readonly clock: Clock
  readonly fails?: ModelFailure
  readonly after?: number
}

function stream(reply: ModelReply, pace: Pace, { request, call, clock, fails, after = 0 }: Streaming): Answer {
  if (!request.stream) return { type: 'reply', reply }
  const delay = pace.delay === undefined ? 0 : milliseconds(pace.delay, 'delay')
  async function* slowly(): AsyncGenerator<ReplyEvent, void> {
    let sent = 0
    for (const event of inPieces(eventsOfReply(reply), pace.chunk)) {
      const piece = event.type === 'text' || event.type === 'thinking' || event.type === 'input'
      if (fails !== undefined && (event.type === 'end' || (piece && sent >= after))) {
        yield { type: 'failed', failure: fails }
        return
      }
      if (piece && delay > 0) await pause(delay, clock, call.signal)
      if (piece) sent += 1
      yield event
    }
  }
  return { type: 'events', events: slowly() }
}
