/**
 * The heart: a step. If the journal has the outcome of this path, return it; else run the function under its policy,
 * commit the outcome, return it. Failure is a state of the step, decided here and not in the function.
 */
import { failpoint } from '../base/failpoint.ts'
import { NerveError } from '../base/nerve-error.ts'
import { fingerprint } from '../base/value.ts'
import type { PlacedEvent } from '../journal/outcomes.ts'
import type { Call } from './call.ts'
import {
  afterFailure,
  attempt,
  fallbackOf,
  mustWait,
  pauseUntil,
  record,
  settleFailure,
  startCall,
  stoppedByBudget,
  whenAnswered,
  type StepRun,
} from './attempts.ts'
import type { AnyNode, StepCall, StepOptions } from './definition.ts'
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
  node?: AnyNode,
): Promise<Output> {
  if (typeof run !== 'function') throw new NerveError('bad-option', `Step '${label}' needs a function to run.`)
  if (options !== NO_OPTIONS) checkStepOptions(label, options)
  const place = execution.place(label)
  const usual = isUsual(execution, options)
  if (!usual || options.input !== undefined) here.enterWith(place)
  const mark =
    options.input === undefined ? NO_MARK : { fingerprint: fingerprint(options.input, `the input of '${place.path}'`) }
  if (usual) return atOnce({ execution, place, run, options, mark, node, fallback: false })
  const recorded = execution.replaying ? execution.take(place.path, 'step') : undefined
  if (recorded?.type === 'step-completed' && recorded.fingerprint === mark.fingerprint) {
    if (execution.dry === undefined) node?.recall?.(recorded.output)
    return new Promise((resolve) => execution.replayed(place, () => resolve(recorded.output as Output)))
  }
  const one: StepRun<Output> = { execution, place, run, options, mark, node, fallback: false }
  return handled(recorded === undefined ? attempt(one, 1) : replayed(one, recorded))
}

function isUsual<Output>(execution: Execution, options: StepOptions<Output>): boolean {
  if (execution.replaying || mustWait(execution)) return false
  return options.timeout === undefined && options.effect === undefined
}

/** The usual first attempt, without an object more than it needs: this is where the engine's speed comes from. */
function atOnce<Output>(one: StepRun<Output>): Promise<Output> {
  const { execution, run } = one
  let resolve!: (value: Output | Promise<Output>) => void
  const promise = new Promise<Output>((settle) => {
    resolve = settle
  })
  const call = startCall(one, 1, false)
  const fail = (thrown: unknown): void => {
    if (call.givenUp) return call.over()
    if (!call.ended) resolve(afterFailure(one, call, thrown))
    promise.catch(ignore)
  }
  call.onStop(fail)
  execution.begin(call)
  if (one.options.recordInput === true) call.announce()
  failpoint('step-before')
  try {
    const returned = inside(call, run)
    if (isPromise(returned)) {
      execution.tellStarted(call)
      returned.then((output) => {
        if (!succeed(one, call, output, resolve)) promise.catch(ignore)
      }, fail)
    } else if (!succeed(one, call, returned, resolve)) promise.catch(ignore)
  } catch (thrown) {
    fail(thrown)
  }
  return promise
}

/** Not `here.run`: it would go back to where the flow was before this call, and the call has to be entered all the same. */
function inside<Output>(call: Call, run: StepRun<Output>['run']): Promise<Output> | Output {
  here.enterWith(call)
  try {
    return run(call)
  } finally {
    here.enterWith(call.place)
  }
}

function succeed<Output>(
  one: StepRun<Output>,
  call: Call,
  output: Output,
  resolve: (value: Output | Promise<Output>) => void,
): boolean {
  if (call.givenUp) call.over()
  if (call.givenUp || call.ended) return true
  failpoint('step-after')
  return record(one, call, output, resolve)
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
    case 'step-stopped': {
      const { attempt: number, until, question, kind, reason } = recorded
      const stopped = kind === 'fallback' ? fallbackOf(one, number) : one
      if (reason === 'budget') return stoppedByBudget(stopped, number)
      return question === undefined ? later(stopped, number, until) : parked(stopped, number, question)
    }
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

/** The question is recorded with the stop, in one commit: nothing of it has to be known here. */
function parked<Output>(one: StepRun<Output>, number: number, question: string): Promise<Output> {
  return whenAnswered(one, number, { path: question, attempt: number, prompt: question, kind: 'ask', options: {} })
}

/** The input's fingerprint is in events that end an attempt. */
function isChanged(recorded: PlacedEvent, mark: { readonly fingerprint?: string }): boolean {
  if (recorded.type !== 'step-completed' && recorded.type !== 'step-failed') return false
  return recorded.fingerprint !== mark.fingerprint
}

/** The recorded failure was the last word then: the fallback itself had failed, or there was none. */
function unhandled<Output>(one: StepRun<Output>): StepRun<Output> {
  const { onError, ...options } = one.options
  return onError === 'fail' ? one : { ...one, options }
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
