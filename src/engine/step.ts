/**
 * The heart: a step. If the journal has the outcome of this path, return it; else run the function under its policy,
 * commit the outcome, return it. Failure is a state of the step, decided here and not in the function.
 */
import { failpoint } from '../base/failpoint.ts'
import { NerveError } from '../base/nerve-error.ts'
import { fingerprint } from '../base/value.ts'
import type { PlacedEvent } from '../journal/outcomes.ts'
import {
  afterFailure,
  attempt,
  fallbackOf,
  mustWait,
  pauseUntil,
  record,
  settleFailure,
  startCall,
  type StepRun,
} from './attempts.ts'
import type { StepCall, StepOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { checkStepOptions } from './policy.ts'
import { recover } from './recover-step.ts'
import { here, isStopped } from './scope.ts'

const NO_OPTIONS: StepOptions<never> = {}
const NO_MARK: { readonly fingerprint?: string } = {}

export function step<Output>(
  execution: Execution,
  label: string,
  run: (call: StepCall) => Promise<Output> | Output,
  options: StepOptions<Output> = NO_OPTIONS,
): Promise<Output> {
  if (typeof run !== 'function') throw new NerveError('bad-option', `Step '${label}' needs a function to run.`)
  if (options !== NO_OPTIONS) checkStepOptions(label, options)
  const place = execution.enter(label)
  const mark =
    options.input === undefined ? NO_MARK : { fingerprint: fingerprint(options.input, `the input of '${place.path}'`) }
  const recorded = execution.replaying ? execution.take(place.path, 'step') : undefined
  if (recorded?.type === 'step-completed' && recorded.fingerprint === mark.fingerprint) {
    return new Promise((resolve) => execution.replayed(place, () => resolve(recorded.output as Output)))
  }
  const one: StepRun<Output> = { execution, place, run, options, mark, fallback: false }
  if (recorded !== undefined) return handled(replayed(one, recorded))
  if (mustWait(one) || options.timeout !== undefined || options.effect !== undefined) return handled(attempt(one, 1))
  return atOnce(one)
}

/** The usual first attempt, without a promise more than it needs: this is where the engine's speed comes from. */
function atOnce<Output>(one: StepRun<Output>): Promise<Output> {
  const { execution } = one
  let resolve!: (value: Output | Promise<Output>) => void
  const promise = new Promise<Output>((settle) => {
    resolve = settle
  })
  const call = startCall(one, 1, false)
  const fail = (thrown: unknown): void => {
    if (!call.ended) resolve(afterFailure(one, call, thrown))
    promise.catch(ignore)
  }
  const succeed = (output: Output): void => {
    if (call.ended || call.stopped !== undefined) return
    failpoint('step-after')
    record(one, call, output, resolve)
  }
  call.onStop(fail)
  execution.begin(call)
  failpoint('step-before')
  try {
    const returned = here.run(call, one.run, call)
    if (isPromise(returned)) returned.then(succeed, fail)
    else succeed(returned)
  } catch (thrown) {
    fail(thrown)
  }
  return promise
}

/** Goes on from what the journal says about this path. */
function replayed<Output>(one: StepRun<Output>, recorded: PlacedEvent): Promise<Output> {
  const { execution, place, mark } = one
  if (isChanged(recorded, mark)) {
    execution.changed(place.path)
    return attempt(one, 1)
  }
  switch (recorded.type) {
    case 'step-skipped':
      return execution.turn(place).then(() => recorded.value as Output)
    case 'step-failed':
      if (!recorded.final) return later(one, recorded.attempt + 1, recorded.retryAt)
      return execution
        .turn(place)
        .then(() =>
          settleFailure(recorded.handled === undefined ? unhandled(one) : one, recorded.error, recorded.attempt),
        )
    case 'step-stopped':
      return later(
        recorded.kind === 'fallback' ? fallbackOf(one, recorded.attempt) : one,
        recorded.attempt,
        recorded.until,
      )
    default:
      return recovered(one, recorded)
  }
}

/** A step that was in flight when its process died, and whose branch was stopped before it could go on. */
async function recovered<Output>(one: StepRun<Output>, recorded: PlacedEvent): Promise<Output> {
  try {
    return await recover(one, recorded)
  } catch (thrown) {
    const { execution, place } = one
    const lost = execution.state.inFlight.get(place.path)
    if (lost !== undefined && execution.closed === undefined && isStopped(place.scope))
      execution.append({ type: 'step-stopped', path: place.path, attempt: lost.attempt, reason: 'scope' })
    throw thrown
  }
}

/** The input's fingerprint is in events that end an attempt. */
function isChanged(recorded: PlacedEvent, mark: { readonly fingerprint?: string }): boolean {
  if (recorded.type !== 'step-completed' && recorded.type !== 'step-failed') return false
  return recorded.fingerprint !== mark.fingerprint
}

/** The recorded failure was the last word then: the fallback itself had failed, or there was none. */
function unhandled<Output>(one: StepRun<Output>): StepRun<Output> {
  return { ...one, options: { ...one.options, onError: 'fail' } }
}

async function later<Output>(one: StepRun<Output>, next: number, until: number | undefined): Promise<Output> {
  if (until !== undefined) await pauseUntil(one, until)
  return attempt(one, next)
}

function isPromise<Output>(value: Promise<Output> | Output): value is Promise<Output> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** A rejection that the author's code never looks at does not end the process: it is in the journal. */
export function handled<Output>(promise: Promise<Output>): Promise<Output> {
  promise.catch(ignore)
  return promise
}

function ignore(): void {
  // Whoever awaits the promise hears of it.
}
