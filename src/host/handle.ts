import { NerveError, errorFrom } from '../base/nerve-error.ts'
import { command, type RunCommand } from '../engine/commands.ts'
import type { Engine } from '../engine/engine.ts'
import type { FeedItem, FeedOptions } from '../engine/feed.ts'
import { feed } from '../engine/feed.ts'
import type { ForkOptions } from '../engine/fork.ts'
import { holdOf, storedRest } from '../engine/stored-rest.ts'
import type { Actor, Budget, RunStatus } from '../journal/events.ts'
import { statusOf } from '../journal/fold.ts'
import type { RunState } from '../journal/run-state.ts'

export interface ResumeOptions extends Actor {
  /** Laid over the run's budget. */
  readonly budget?: Budget
  /** Go on over changed code as the plan says. */
  readonly accept?: boolean
  /** Forget the outcome at this path and everything recorded after it. */
  readonly from?: string
}

/** A run in your hand. It can be made again at any time from the run's id: `host.handle(id)`. */
export interface Handle<Output = unknown> {
  readonly id: string
  /** The output. Rejects when the run failed, was cancelled, diverged, or has spent its budget. */
  result(): Promise<Output>
  /** Resolves when the run ends or rests (waits for a person, a time or a signal, is paused, has spent its budget). */
  rest(): Promise<RunStatus>
  /** Durable events from the beginning or from a cursor, then as they happen; ends with the run. */
  events(options?: FeedOptions): AsyncIterable<FeedItem>
  pause(actor?: Actor): Promise<void>
  resume(options?: ResumeOptions): Promise<void>
  interrupt(options?: Actor & { readonly path?: string }): Promise<void>
  cancel(options?: Actor & { readonly reason?: string }): Promise<void>
  fork(options?: ForkOptions): Promise<Handle<Output>>
  answer(question: string, value: unknown, actor?: Actor): Promise<void>
  signal(name: string, value?: unknown, actor?: Actor): Promise<void>
}

export interface HandleParts {
  readonly engine: Engine
  readonly fork: (run: string, options: ForkOptions) => Promise<string>
  readonly resume: (run: string, options: ResumeOptions) => Promise<void>
}

export function createHandle<Output>(parts: HandleParts, id: string): Handle<Output> {
  const { engine } = parts
  const act = async (wanted: RunCommand): Promise<void> => {
    await command(engine, id, wanted)
  }
  return {
    id,
    result: () => resultOf(engine, id) as Promise<Output>,
    rest: async () => restingStatus(engine, await restOf(engine, id)),
    events: (options) => feed(engine.store, engine.bus, id, options),
    pause: (actor = {}) => act({ verb: 'pause', ...actor }),
    resume: (options = {}) => parts.resume(id, options),
    interrupt: (options = {}) => act({ verb: 'interrupt', ...options }),
    cancel: (options = {}) => act({ verb: 'cancel', ...options }),
    fork: async (options = {}) => createHandle<Output>(parts, await parts.fork(id, options)),
    answer: (question, value, actor = {}) => act({ verb: 'answer', question, value, ...actor }),
    signal: (name, value, actor = {}) => act({ verb: 'signal', name, value, ...actor }),
  }
}

async function resultOf(engine: Engine, id: string): Promise<unknown> {
  const known = engine.live(id)
  if (known === undefined) {
    const { state } = await engine.stored(id)
    if (state.seq === 0) throw new NerveError('not-found', `There is no run ${id}.`)
    if (state.end !== undefined) return outcome(state)
    if (state.exhausted !== undefined) throw exhausted(state)
  } else if (known.idle && known.rootExecution?.state.exhausted !== undefined) {
    throw exhausted(known.rootExecution.state)
  }
  const settled = await engine.watchers.endOr(id, (state, reject) => {
    if (state.exhausted === undefined) return false
    reject(exhausted(state))
    return true
  })
  return outcome(settled)
}

/** A run that rests with open children waits for them, and they wait for something outside. */
async function restingStatus(engine: Engine, state: RunState): Promise<RunStatus> {
  const status = statusOf(state)
  if (status !== 'running') return status
  return (await holdOf(engine, state)) ?? (state.children.size > 0 ? 'waiting' : status)
}

async function restOf(engine: Engine, id: string): Promise<RunState> {
  const live = engine.live(id)
  if (live === undefined) {
    const resting = await storedRest(engine, id)
    if (resting !== undefined) return resting
  } else if (live.idle && live.rootExecution !== undefined) {
    return live.rootExecution.state
  }
  return engine.watchers.rest(id)
}

function outcome(state: RunState): unknown {
  if (state.end === 'cancelled')
    throw new NerveError('cancelled', `Run ${state.run} ('${state.definition}') was cancelled.`, {
      data: { run: state.run },
    })
  if (state.error === undefined) return state.output
  const step = state.error.data?.['step']
  throw new NerveError(
    'run-failed',
    `Run ${state.run} ('${state.definition}') failed${typeof step === 'string' ? ` at step '${step}'` : ''}: ${state.error.message}`,
    {
      data: { run: state.run, ...(step === undefined ? {} : { step }) },
      cause: errorFrom(state.error),
    },
  )
}

function exhausted({ run, definition, exhausted: spent }: RunState): NerveError {
  const { dimension, of } = spent ?? {}
  const child = of === undefined ? '' : ` waits for its child ${of}, which`
  return new NerveError(
    'budget-exhausted',
    `Run ${run} ('${definition}')${child} has spent its budget of ${dimension}. Resume ${of === undefined ? 'it' : 'that one'} with a larger one: nerve resume ${of ?? run} --budget ${dimension}=N`,
    { retry: 'pause', data: { run, dimension, ...(of === undefined ? {} : { of }) } },
  )
}

/** The id of a question begins with that of its run. */
export function runOfQuestion(question: string): string {
  const at = question.lastIndexOf('-')
  if (at > 0) return question.slice(0, at)
  throw new NerveError(
    'not-found',
    `${JSON.stringify(question)} is not the id of a question. List the open ones with: nerve inbox`,
  )
}
