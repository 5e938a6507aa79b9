/** Attempts of a step: when one may start, how it ends, what comes after it, and how each end is recorded. */
import { milliseconds } from '../base/duration.ts'
import { failpoint } from '../base/failpoint.ts'
import { NerveError, errorData, errorFrom, type ErrorData } from '../base/nerve-error.ts'
import type { StepCompleted, StepFailed, StepStopped, Usage } from '../journal/events.ts'
import { questionPath } from '../journal/outcomes.ts'
import { Call, type CallStart } from './call.ts'
import type { StepCall, StepOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { ONE_STEP } from './ledger.ts'
import { Parked } from './parked.ts'
import { backoffDelay, isHopeless, parkUntil } from './policy.ts'
import { errorPolicyIn, here, throwIfStopped, type Place } from './scope.ts'
import { after, askAt, rejectWith, type Asking } from './waits.ts'

/** A first attempt that reserves nothing but itself. */
const USUAL: CallStart = { number: 1, aside: ONE_STEP, resumed: false, fallback: false }

export interface StepRun<Output> {
  readonly execution: Execution
  readonly place: Place
  readonly run: (call: StepCall) => Promise<Output> | Output
  readonly options: StepOptions<Output>
  readonly mark: { readonly fingerprint?: string }
  /** True when `run` is the step's fallback. */
  readonly fallback: boolean
}

/** One attempt, and whatever its end asks for. */
export async function attempt<Output>(one: StepRun<Output>, number: number, resumed = false): Promise<Output> {
  const { execution, options } = one
  // Others may be admitted in the same tick: what counts is the room there is when this one sets its share aside.
  if (mustWait(execution))
    do await admit(one)
    while (!hasRoom(one))
  const call = startCall(one, number, resumed)
  if (options.effect === 'once' || options.effect === 'resumable') call.announced = true
  execution.begin(call)
  if (call.announced) await announce(one, call)
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
  const usual = number === 1 && options.reserve === undefined && !resumed && !one.fallback
  const start = usual ? USUAL : { number, aside: { ...options.reserve, steps: 1 }, resumed, fallback: one.fallback }
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
    new Promise<Output>((settle) => settle(here.run(call, run, call))).then((output) => {
      disarm?.()
      resolve(output)
    }, stop)
  })
}

export function mustWait({ replayEnd, tree, closed, ledger }: Execution): boolean {
  return replayEnd !== undefined || tree.hold !== undefined || closed !== undefined || ledger.limited
}

/** Waits until new work may start here, and until the budget has room for it. */
async function admit<Output>(one: StepRun<Output>): Promise<void> {
  const { execution, place, options } = one
  const { tree, ledger } = execution
  for (;;) {
    const wait = execution.replayEnd ?? tree.hold
    if (wait !== undefined) await wait
    if (execution.closed !== undefined) throw execution.closed
    throwIfStopped(place.scope)
    if (execution.replayEnd !== undefined || tree.hold !== undefined) continue
    const shortage = ledger.shortage({ ...options.reserve, steps: 1 })
    if (shortage === undefined) return
    tree.exhaust(shortage, place.path)
  }
}

function hasRoom<Output>({ execution, options }: StepRun<Output>): boolean {
  const { replayEnd, tree, closed, ledger } = execution
  if (replayEnd !== undefined || tree.hold !== undefined || closed !== undefined) return false
  return ledger.shortage({ ...options.reserve, steps: 1 }) === undefined
}

/** For steps that must not run twice: the journal knows that it started before it starts. */
async function announce<Output>(one: StepRun<Output>, call: Call): Promise<void> {
  const { execution, options } = one
  await execution.commit({ ...call.startedEvent, ...(options.effect === undefined ? {} : { effect: options.effect }) })
}

/** Records what the function returned, and delivers it when that is durable. */
export function record<Output>(
  one: StepRun<Output>,
  call: Call,
  output: Output,
  deliver: (value: Output | Promise<Output>) => void,
): void {
  const { execution } = one
  const now = execution.clock.now()
  const end = execution.end(call, now)
  const event = completed(one, call, end, output)
  try {
    call.returned(output, deliver)
    execution.complete(event, call, now)
    warn(execution)
  } catch (thrown) {
    // The value cannot be kept, or the run is over.
    const reason = execution.closed ?? thrown
    deliver(execution.closed === undefined ? finallyFailed(one, call, thrown, end) : Promise.reject(reason))
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
    case 'end':
      recordStop(one, call, { reason: call.stopped === 'scope' ? 'scope' : 'cancel' })
      return new Promise((_, reject) => rejectWith(reject, thrown))
    case 'budget':
      recordStop(one, call, { reason: 'budget' })
      return attempt(one, call.attempt)
    default:
  }
  const now = execution.clock.now()
  if (thrown instanceof Parked && call.stopped === undefined) return park(one, call, thrown)
  const until = call.stopped === undefined ? parkUntil(thrown, now) : undefined
  if (until !== undefined) {
    recordStop(one, call, { reason: 'quota', until, error: errorData(thrown) })
    await pauseUntil(one, until)
    return attempt(one, call.attempt)
  }
  if (call.attempt >= (options.attempts ?? 1) || isHopeless(thrown)) return finallyFailed(one, call, thrown)
  const retryAt = now + backoffDelay(options.backoff, call.attempt)
  await execution.commit(failure(one, call, { thrown, retryAt, end: execution.end(call) }))
  warn(execution)
  await pauseUntil(one, retryAt)
  return attempt(one, call.attempt + 1)
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

/** What the step's own policy does about its failure. */
export function handledBy<Output>(options: StepOptions<Output>): Pick<StepFailed, 'handled'> {
  const way = options.onError ?? 'fail'
  return way === 'fail' ? {} : { handled: 'skip' in way ? 'skip' : 'fallback' }
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
