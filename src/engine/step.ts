/**
 * The heart: a step. If the journal has the outcome of this path, return it; else run the function under its policy,
 * commit the outcome, return it. Failure is a state of the step, decided here and not in the function.
 */
import { milliseconds } from '../base/duration.ts'
import { failpoint } from '../base/failpoint.ts'
import { NerveError, errorData, errorFrom, type ErrorData } from '../base/nerve-error.ts'
import { fingerprint } from '../base/value.ts'
import type { StepFailed, StepStopped, Usage } from '../journal/events.ts'
import { Call } from './call.ts'
import type { StepCall, StepOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { backoffDelay, checkStepOptions, isHopeless, parkUntil } from './policy.ts'
import { recover } from './recover-step.ts'
import { here, insideStep, type Place } from './scope.ts'
import { after } from './waits.ts'

type Run<Output> = (call: StepCall) => Promise<Output> | Output

const NO_OPTIONS: StepOptions<never> = {}
const ONE_STEP: Usage = { steps: 1 }

export interface StepRun<Output> {
  readonly execution: Execution
  readonly place: Place
  readonly run: Run<Output>
  readonly options: StepOptions<Output>
  readonly mark: { readonly fingerprint?: string }
}

export function step<Output>(
  execution: Execution,
  label: string,
  run: Run<Output>,
  options: StepOptions<Output> = NO_OPTIONS,
): Promise<Output> {
  if (typeof run !== 'function') throw new NerveError('bad-option', `Step '${label}' needs a function to run.`)
  if (options !== NO_OPTIONS) checkStepOptions(label, options)
  const place = execution.enter(label)
  const mark =
    options.input === undefined ? {} : { fingerprint: fingerprint(options.input, `the input of '${place.path}'`) }
  const one: StepRun<Output> = { execution, place, run, options, mark }
  const recorded = execution.replaying ? execution.take(place.path, 'step') : undefined
  if (recorded === undefined) return attempts(one, 1)
  if ('fingerprint' in recorded || mark.fingerprint !== undefined) {
    if ((recorded as { fingerprint?: string }).fingerprint !== mark.fingerprint && recorded.type !== 'step-started') {
      execution.changed(place.path)
      return attempts(one, 1)
    }
  }
  switch (recorded.type) {
    case 'step-completed':
      return Promise.resolve(recorded.output as Output)
    case 'step-skipped':
      return Promise.resolve(recorded.value as Output)
    case 'step-failed':
      return recorded.final
        ? settleFailure(one, recorded.error, recorded.attempt)
        : waitThenTry(one, recorded.attempt + 1, recorded.retryAt)
    case 'step-stopped':
      return waitThenTry(one, recorded.attempt, recorded.until)
    default:
      return recover(one, recorded, { again: (attempt, resumed) => attempts(one, attempt, resumed), settleFailure })
  }
}

async function waitThenTry<Output>(one: StepRun<Output>, attempt: number, until: number | undefined): Promise<Output> {
  if (until !== undefined) await pauseUntil(one, until)
  return attempts(one, attempt)
}

/** Waits for a time that is already in the journal (a retry, a quota), without a timer event of its own. */
function pauseUntil<Output>(one: StepRun<Output>, until: number): Promise<void> {
  const { execution, place } = one
  return new Promise((resolve, reject) => {
    const path = place.path
    const end = (): void => {
      disarm()
      execution.waits.delete(path)
    }
    const disarm = execution.clock.at(until, () => {
      end()
      resolve()
    })
    execution.waits.set(path, {
      scope: place.scope,
      forget: disarm,
      withdraw(error) {
        end()
        execution.append({ type: 'wait-withdrawn', path }, () => reject(error))
      },
    })
  })
}

async function attempts<Output>(one: StepRun<Output>, first: number, resumed = false): Promise<Output> {
  const { execution, options } = one
  const most = Math.max(options.attempts ?? 1, first)
  for (let attempt = first; ;) {
    if (mustWait(one)) await admit(one)
    const call = start(one, attempt, resumed && attempt === first)
    if (options.effect === 'once' || options.effect === 'resumable') await startForSure(one, call)
    execution.begin(call)
    const result = await perform(one, call)
    if ('output' in result) return completed(one, call, result.output)
    const { thrown, until } = result
    if (call.stopped === 'scope' || call.stopped === 'cancel' || call.stopped === 'end') {
      stopped(one, call, { reason: call.stopped === 'scope' ? 'scope' : 'cancel' })
      throw thrown
    }
    if (call.stopped === 'budget') {
      stopped(one, call, { reason: 'budget' })
    } else if (until !== undefined) {
      stopped(one, call, { reason: 'quota', until, error: errorData(thrown) })
      await pauseUntil(one, until)
    } else if (attempt >= most || isHopeless(thrown)) {
      return finallyFailed(one, call, thrown)
    } else {
      const retryAt = execution.clock.now() + backoffDelay(options.backoff, attempt)
      await execution.commit(failure(one, call, { thrown, retryAt, end: execution.end(call) }))
      warn(execution)
      await pauseUntil(one, retryAt)
      attempt += 1
    }
  }
}

type Result<Output> = { readonly output: Output } | { readonly thrown: unknown; readonly until: number | undefined }

/** Runs the function once. */
async function perform<Output>(one: StepRun<Output>, call: Call): Promise<Result<Output>> {
  failpoint('step-before')
  try {
    const output = await guarded(one, call)
    failpoint('step-after')
    return { output }
  } catch (thrown) {
    return { thrown, until: call.stopped === undefined ? parkUntil(thrown, one.execution.clock.now()) : undefined }
  }
}

/** The function's promise, which also ends when the call is stopped or its time is up. */
function guarded<Output>(one: StepRun<Output>, call: Call): Promise<Output> {
  const { execution, place, run, options } = one
  const limit = options.timeout
  return new Promise<Output>((resolve, reject) => {
    if (limit === undefined) {
      call.onStop(reject)
      resolve(here.run(insideStep(place), run, call))
      return
    }
    const disarm = execution.clock.at(call.started + milliseconds(limit), () =>
      call.stop('timeout', timedOut(place.path, call.attempt, limit)),
    )
    const stop = (error: unknown): void => {
      disarm()
      reject(error)
    }
    call.onStop(stop)
    new Promise<Output>((settle) => settle(here.run(insideStep(place), run, call))).then((output) => {
      disarm()
      resolve(output)
    }, stop)
  })
}

function mustWait<Output>(one: StepRun<Output>): boolean {
  const { execution } = one
  return (
    execution.replayEnd !== undefined ||
    execution.tree.hold !== undefined ||
    execution.closed !== undefined ||
    execution.ledger.limited
  )
}

/** Waits until new work may start here, and until the budget has room for it. */
async function admit<Output>(one: StepRun<Output>): Promise<void> {
  const { execution, place, options } = one
  const { tree } = execution
  for (;;) {
    const wait = execution.replayEnd ?? tree.hold
    if (wait !== undefined) await wait
    if (execution.closed !== undefined) throw execution.closed
    for (let scope: typeof place.scope | undefined = place.scope; scope !== undefined; scope = scope.parent) {
      if (scope.stopped !== undefined) throw scope.stopped
    }
    if (execution.replayEnd !== undefined || tree.hold !== undefined) continue
    const shortage = execution.ledger.limited ? execution.ledger.shortage({ ...options.reserve, steps: 1 }) : undefined
    if (shortage === undefined) return
    tree.exhaust(shortage, place.path)
  }
}

function start<Output>(one: StepRun<Output>, attempt: number, resumed: boolean): Call {
  const { execution, place, options } = one
  const aside = options.reserve === undefined ? ONE_STEP : { ...options.reserve, steps: 1 }
  execution.ledger.setAside(aside, 1)
  return new Call(execution, place, attempt, { aside, resumed, now: execution.clock.now() })
}

/** For steps that must not run twice: the journal knows that it started before it starts. */
async function startForSure<Output>(one: StepRun<Output>, call: Call): Promise<void> {
  const { execution, place, options } = one
  call.announced = true
  await execution.commit({
    type: 'step-started',
    path: place.path,
    attempt: call.attempt,
    ...after(place),
    ...(options.effect === undefined ? {} : { effect: options.effect }),
  })
}

function completed<Output>(one: StepRun<Output>, call: Call, output: Output): Promise<Output> {
  const { execution, place, mark } = one
  const end = execution.end(call)
  return new Promise((resolve, reject) => {
    try {
      execution.append(
        {
          type: 'step-completed',
          path: place.path,
          attempt: call.attempt,
          started: call.started,
          ...after(place),
          ...mark,
          ...spent(call),
          ...end,
          output,
        },
        () => resolve(output),
      )
      warn(execution)
    } catch (thrown) {
      // The value cannot be kept, or the run is over.
      if (execution.closed === undefined) resolve(finallyFailed(one, call, thrown, end))
      else reject(thrown)
    }
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
  const way = one.options.onError ?? 'fail'
  const handled = way === 'fail' ? {} : { handled: 'skip' in way ? ('skip' as const) : ('fallback' as const) }
  const event = failure(one, call, { thrown, end, ...handled })
  await one.execution.commit(event)
  warn(one.execution)
  return settleFailure(one, event.error, call.attempt)
}

function stopped<Output>(one: StepRun<Output>, call: Call, why: Pick<StepStopped, 'reason' | 'until' | 'error'>): void {
  const { execution, place } = one
  const end = execution.end(call)
  if (execution.closed !== undefined) return
  execution.append({
    type: 'step-stopped',
    path: place.path,
    attempt: call.attempt,
    ...after(place),
    ...spent(call),
    ...end,
    ...why,
  })
}

/** No attempt is left: the step's own way out, then the run's. */
async function settleFailure<Output>(one: StepRun<Output>, error: ErrorData, attempt: number): Promise<Output> {
  const { execution, place, options } = one
  const { path } = place
  const way = options.onError ?? 'fail'
  if (way !== 'fail' && 'skip' in way) {
    await execution.commit({
      type: 'step-skipped',
      path,
      ...after(place),
      error,
      ...(way.skip === undefined ? {} : { value: way.skip }),
    })
    return way.skip
  }
  if (way !== 'fail') return fallback(one, way.fallback, attempt + 1)
  if (execution.state.errorPolicy === 'continue') return undefined as Output
  const thrown = errorFrom(error)
  execution.tree.blame(thrown, path)
  throw thrown
}

async function fallback<Output>(one: StepRun<Output>, run: Run<Output>, attempt: number): Promise<Output> {
  const other: StepRun<Output> = { ...one, run, options: { ...one.options, attempts: attempt, onError: 'fail' } }
  return attempts(other, attempt)
}

function spent(call: Call): { readonly usage?: Usage } {
  const usage = call.spent
  return usage === undefined ? {} : { usage }
}

function warn(execution: Execution): void {
  if (!execution.ledger.limited) return
  for (const warning of execution.ledger.warnings()) execution.tree.warn(warning)
}

function timedOut(path: string, attempt: number, limit: string | number): NerveError {
  return new NerveError(
    'timeout',
    `Attempt ${attempt} of '${path}' did not end within ${limit}${typeof limit === 'number' ? ' ms' : ''}.`,
    {
      retry: 'later',
      data: { path, attempt },
    },
  )
}
