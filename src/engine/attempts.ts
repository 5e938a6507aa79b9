/** Attempts of a step: when one may start, how it ends, what comes after it, and how each end is recorded. */
import { milliseconds } from '../base/duration.ts'
import { failpoint } from '../base/failpoint.ts'
import { NerveError, errorData, errorFrom, type ErrorData } from '../base/nerve-error.ts'
import type { StepCompleted, StepFailed, StepStopped, Usage } from '../journal/events.ts'
import { questionPath } from '../journal/outcomes.ts'
import { Call, type CallStart } from './call.ts'
import type { AnyNode, StepCall, StepOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { heldBack, isRefused } from './held-back.ts'
import { ONE_STEP } from './ledger.ts'
import { Parked } from './parked.ts'
import { backoffDelay, handledBy, isHopeless, parkUntil } from './policy.ts'
import { verdictOn, type Loss } from './recovery-question.ts'
import { errorPolicyIn, here, type Place } from './scope.ts'
import { after, askAt, rejectWith, type Asking } from './waits.ts'

/** A first attempt that reserves nothing but itself. */
const USUAL: CallStart = { number: 1, aside: ONE_STEP, resumed: false, fallback: false }

export interface StepRun<Output> {
  readonly execution: Execution
  readonly place: Place
  readonly run: (call: StepCall) => Promise<Output> | Output
  readonly options: StepOptions<Output>
  readonly mark: { readonly fingerprint?: string }
  /** What it runs, if it runs a node. */
  readonly node: AnyNode | undefined
  /** True when `run` is the step's fallback. */
  readonly fallback: boolean
}

/** One attempt, and whatever its end asks for. */
export async function attempt<Output>(one: StepRun<Output>, number: number, resumed = false): Promise<Output> {
  const { execution, options } = one
  // Others may be admitted in the same tick: what counts is what there is when this one sets its share aside.
  for (let wait = admission(one); wait !== undefined; wait = admission(one)) await wait
  const call = startCall(one, number, resumed)
  if (options.effect === 'once' || options.effect === 'resumable') call.announced = true
  execution.begin(call)
  if (call.announced) await announce(one, call)
  else if (options.recordInput === true) call.announce()
  else execution.tellStarted(call)
  failpoint('step-before')
  let output: Output
  try {
    // It may have been stopped while the journal was told that it starts.
    call.throwIfStopped()
    output = await guarded(one, call)
  } catch (thrown) {
    return afterFailure(one, call, thrown)
  }
  failpoint('step-after')
  return new Promise((resolve) => record(one, call, output, resolve))
}

export function startCall<Output>(one: StepRun<Output>, number: number, resumed: boolean): Call {
  const { execution, place, options } = one
  const { node, fallback } = one
  const first = number === 1 && !resumed && !fallback
  const told = first && options.recordInput === true ? { told: { node, input: options.input } } : undefined
  const usual = first && told === undefined && options.reserve === undefined
  const start = usual ? USUAL : { number, aside: { ...options.reserve, steps: 1 }, resumed, fallback, ...told }
  execution.ledger.setAside(start.aside, 1)
  return new Call(execution, place, start)
}

/** The function's promise, which also ends when the call is stopped or its time is up. */
function guarded<Output>(one: StepRun<Output>, call: Call): Promise<Output> {
  const { execution, place, run, options } = one
  const limit = options.timeout
  return new Promise<Output>((resolve, reject) => {
    const timeUp = (): void => call.stop('timeout', timedOut(place.path, call.attempt, limit ?? 0))
    const disarm = limit === undefined ? undefined : execution.clock.at(call.started + milliseconds(limit), timeUp)
    const stop = (error: unknown): void => {
      disarm?.()
      reject(error)
    }
    call.onStop(stop)
    const ended = (output: Output): void => {
      if (call.givenUp) return call.over()
      disarm?.()
      resolve(output)
    }
    const failed = (error: unknown): void => (call.givenUp ? call.over() : stop(error))
    new Promise<Output>((settle) => settle(here.run(call, run, call))).then(ended, failed)
  })
}

export function mustWait({ replayEnd, tree, over, ledger }: Execution): boolean {
  return replayEnd !== undefined || tree.hold !== undefined || over !== undefined || ledger.limited
}

/** What an attempt has to wait for; undefined when it may start now. */
function admission<Output>(one: StepRun<Output>): Promise<void> | undefined {
  const { execution, place, options } = one
  const { tree, ledger } = execution
  const held = mayGoOn(one)
  if (held !== undefined || !ledger.limited) return held
  const shortage = ledger.shortage({ ...options.reserve, steps: 1 })
  if (shortage === undefined) return undefined
  tree.exhaust(shortage, place.path)
  return tree.hold
}

/** As `heldBack`. Where it was stopped, the journal must not go on waiting for this attempt. */
function mayGoOn<Output>({ execution, place }: StepRun<Output>): Promise<void> | undefined {
  try {
    return heldBack(execution, place.scope)
  } catch (stopped) {
    const { path } = place
    if (execution.state.waits.has(path)) execution.append({ type: 'wait-withdrawn', path })
    throw stopped
  }
}

/** For steps that must not run twice: the journal knows that it started before it starts. */
async function announce<Output>(one: StepRun<Output>, call: Call): Promise<void> {
  const { execution, options } = one
  await execution.commit({ ...call.startedEvent, ...(options.effect === undefined ? {} : { effect: options.effect }) })
}

/** Records what the function returned, and delivers it when that is durable. False when it cannot be kept. */
export function record<Output>(
  one: StepRun<Output>,
  call: Call,
  output: Output,
  deliver: (value: Output | Promise<Output>) => void,
): boolean {
  const { execution } = one
  const now = execution.clock.now()
  const end = execution.end(call, now)
  const event = completed(one, call, end, output)
  try {
    call.returned(output, deliver)
    execution.complete(event, call, now)
    warn(execution)
    return true
  } catch (thrown) {
    // The value cannot be kept, or the run is over.
    const { closed } = execution
    deliver(closed === undefined ? finallyFailed(one, call, thrown, end) : Promise.reject(closed))
    return false
  }
}

function completed<Output>(
  one: StepRun<Output>,
  call: Call,
  { active }: { readonly active?: number },
  output: Output,
): StepCompleted {
  const { attempt: number, started, spent: usage } = call
  const { path, after: before } = one.place
  const { fingerprint } = one.mark
  // Written out, because fields that are added one by one cost more than the object.
  const brief = usage === undefined && active === undefined && fingerprint === undefined
  if (brief && before !== undefined && output !== undefined)
    return { type: 'step-completed', path, attempt: number, started, after: before, output }
  return {
    type: 'step-completed',
    path,
    attempt: number,
    started,
    ...after(one.place),
    ...one.mark,
    ...(active === undefined ? {} : { active }),
    ...(usage === undefined ? {} : { usage }),
    ...(output === undefined ? {} : { output }),
  }
}

/** What an attempt that did not return leads to: an end, or the next attempt. */
export async function afterFailure<Output>(one: StepRun<Output>, call: Call, thrown: unknown): Promise<Output> {
  const { execution, options } = one
  switch (call.stopped) {
    case 'scope':
    case 'cancel':
    case 'end': {
      const reason = call.stopped === 'scope' ? 'scope' : 'cancel'
      call.letEnd(() => recordStop(one, call, { reason }))
      // Whoever waits for it goes on at once; the run does not end before this call has.
      return new Promise((_, reject) => rejectWith(reject, thrown))
    }
    case 'budget':
      await lastWords(call)
      recordStop(one, call, { reason: 'budget' })
      return stoppedByBudget(one, call.attempt)
    case 'timeout':
    case 'interrupt':
      await lastWords(call)
      break
    default:
  }
  const now = execution.clock.now()
  if (thrown instanceof Parked && call.stopped === undefined) return park(one, call, thrown)
  const until = call.stopped === undefined ? parkUntil(thrown, now) : undefined
  if (typeof until === 'number') {
    recordStop(one, call, { reason: 'quota', until, error: errorData(thrown) })
    await pauseUntil(one, until)
    return attempt(one, call.attempt)
  }
  const failed = until ?? thrown
  if (call.attempt >= (options.attempts ?? 1) || isHopeless(failed)) return finallyFailed(one, call, failed)
  const retryAt = now + backoffDelay(options.backoff, call.attempt)
  await execution.commit(failure(one, call, { thrown: failed, retryAt, end: execution.end(call) }))
  warn(execution)
  await pauseUntil(one, retryAt)
  return attempt(one, call.attempt + 1)
}

/** Goes on with an attempt that its budget stopped. */
export function stoppedByBudget<Output>(one: StepRun<Output>, number: number): Promise<Output> {
  const { execution, place, options } = one
  const asks = options.effect === 'once' && !isRefused(execution, place.scope)
  return asks ? askWhatToDo(one, number, 'budget') : attempt(one, number)
}

/** What comes next must know what this attempt has spent, and must not run beside it. */
function lastWords(call: Call): Promise<void> {
  return new Promise((resolve) => call.letEnd(resolve))
}

/** Ends the call with a question, in one commit. */
function park<Output>(one: StepRun<Output>, call: Call, { prompt, options }: Parked): Promise<Output> {
  const { kind = 'ask', keep, ...rest } = options
  const { place, execution } = one
  if (keep !== undefined) execution.append({ type: 'step-kept', path: place.path, attempt: call.attempt, value: keep })
  const path = questionPath(place.path, call.attempt, execution.state.seq + 1)
  recordStop(one, call, { reason: 'question', question: path })
  return whenAnswered(one, call.attempt, { path, prompt, kind, options: rest, attempt: call.attempt })
}

/** Goes on with an attempt when the question that it ended with has its answer. */
export async function whenAnswered<Output>(one: StepRun<Output>, number: number, asking: Asking): Promise<Output> {
  await askAt(one.execution, one.place, asking)
  return attempt(one, number, true)
}

/** Waits for a time that is already in the journal (a retry, a quota), without a timer event of its own. */
export function pauseUntil<Output>(one: StepRun<Output>, until: number): Promise<void> {
  const { execution, place } = one
  const { path } = place
  // It may have been stopped while its failure was written: the attempt looks.
  if (isRefused(execution, place.scope)) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const end = (): void => {
      disarm()
      execution.waits.delete(path)
    }
    const disarm = execution.clock.at(until, () => {
      end()
      resolve()
      // When a hold keeps the next attempt back, nothing else would show that the run has come to rest.
      execution.committer.arm(execution)
    })
    execution.waits.set(path, {
      scope: place.scope,
      forget: disarm,
      withdraw(error) {
        end()
        execution.append({ type: 'wait-withdrawn', path }, () => rejectWith(reject, error))
      },
    })
  })
}

interface Ending {
  readonly thrown: unknown
  readonly end: { readonly active?: number }
  readonly retryAt?: number
  readonly handled?: 'skip' | 'fallback'
}

function failure<Output>(one: StepRun<Output>, call: Call, ending: Ending): StepFailed {
  const { thrown, end, retryAt, handled } = ending
  return {
    type: 'step-failed',
    path: one.place.path,
    attempt: call.attempt,
    error: errorData(thrown),
    final: retryAt === undefined,
    started: call.started,
    ...after(one.place),
    ...one.mark,
    ...spent(call),
    ...end,
    ...(retryAt === undefined ? {} : { retryAt }),
    ...(handled === undefined ? {} : { handled }),
  }
}

async function finallyFailed<Output>(
  one: StepRun<Output>,
  call: Call,
  thrown: unknown,
  end = one.execution.end(call),
): Promise<Output> {
  const event = failure(one, call, { thrown, end, ...handledBy(one.options) })
  await one.execution.commit(event, one.place)
  warn(one.execution)
  return settleFailure(one, event.error, call.attempt)
}

/** The attempt was lost in the middle, and must not run twice: a person decides. */
export async function askWhatToDo<Output>(one: StepRun<Output>, number: number, loss: Loss): Promise<Output> {
  const verdict = await verdictOn(one, number, loss)
  if (verdict.type === 'retry') return attempt(one, number + 1)
  return verdict.type === 'failed' ? settleFailure(one, verdict.error, number) : (verdict.value as Output)
}

/** No attempt is left: the step's own way out, then the run's. */
export async function settleFailure<Output>(one: StepRun<Output>, error: ErrorData, last: number): Promise<Output> {
  const { execution, place, options } = one
  const { path } = place
  const way = options.onError ?? 'fail'
  if (way !== 'fail' && 'skip' in way) {
    const value = way.skip === undefined ? {} : { value: way.skip }
    await execution.commit({ type: 'step-skipped', path, ...after(place), error, ...value }, place)
    return way.skip
  }
  if (way !== 'fail')
    return attempt(
      asFallback(one, (call) => way.fallback(call, errorFrom(error)), last + 1),
      last + 1,
    )
  const policy = errorPolicyIn(place.scope) ?? execution.state.errorPolicy
  if (policy === 'continue' && options.onError !== 'fail') return undefined as Output
  const thrown = errorFrom(error)
  execution.tree.blame(thrown, path)
  throw thrown
}

/** The fallback is the last attempt of the same step, with another function. */
function asFallback<Output>(one: StepRun<Output>, run: StepRun<Output>['run'], number: number): StepRun<Output> {
  const { onError: _used, ...options } = one.options
  return { ...one, run, fallback: true, options: { ...options, attempts: number } }
}

/** The step as its fallback, for what is recorded of one. */
export function fallbackOf<Output>(one: StepRun<Output>, number: number): StepRun<Output> {
  const { onError } = one.options
  if (typeof onError !== 'object' || !('fallback' in onError)) return one
  return asFallback(one, (call) => onError.fallback(call), number)
}

function recordStop<Output>(
  one: StepRun<Output>,
  call: Call,
  why: Pick<StepStopped, 'reason' | 'until' | 'error' | 'question'>,
): void {
  const { execution, place } = one
  const end = execution.end(call)
  if (execution.closed !== undefined) return
  const { path } = place
  execution.append({
    type: 'step-stopped',
    path,
    attempt: call.attempt,
    ...after(place),
    ...spent(call),
    ...end,
    ...(one.fallback ? { kind: 'fallback' as const } : {}),
    ...why,
  })
}

function spent(call: Call): { readonly usage?: Usage } {
  const usage = call.spent
  return usage === undefined ? {} : { usage }
}

function warn(execution: Execution): void {
  if (!execution.ledger.limited) return
  for (const warning of execution.ledger.warnings()) execution.tree.warn(warning)
}

function timedOut(path: string, number: number, limit: string | number): NerveError {
  const shown = typeof limit === 'number' ? `${limit} ms` : limit
  return new NerveError('timeout', `Attempt ${number} of '${path}' did not end within ${shown}.`, {
    retry: 'later',
    data: { path, attempt: number },
  })
}
