/** The object that authors write against: every primitive, bound to one run. */
import { milliseconds } from '../base/duration.ts'
import { NerveError } from '../base/nerve-error.ts'
import { all, map, race, scope } from './branches.ts'
import { child, type ChildStarter } from './child.ts'
import type { AskOptions, Context, RaceOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { never } from './held-back.ts'
import { EXECUTION, runNode } from './run-node.ts'
import { handled, step } from './step.ts'
import { after, ask, sleep, waitFor } from './waits.ts'

export function createContext(execution: Execution, children: ChildStarter): Context {
  const { state } = execution
  const context: Context & { readonly [EXECUTION]: Execution } = {
    [EXECUTION]: execution,
    input: state.input,
    params: { ...execution.definition.options.params, ...state.params },
    runId: execution.run,
    get signal() {
      return execution.controller.signal
    },
    step(label, run, options) {
      if (isOver(execution)) return never()
      try {
        return step(execution, label, run, options)
      } catch (error) {
        return handled(Promise.reject(error))
      }
    },
    ask: (prompt, options = {}) =>
      settled(execution, () => ask(execution, prompt, options as AskOptions<string, unknown>, 'ask')) as never,
    gate: (prompt, options = {}) =>
      settled(execution, () => ask(execution, prompt, gateOptions(options as AskOptions), 'gate')) as never,
    waitFor: (name, options = {}) => settled(execution, () => waitFor(execution, name, options)) as never,
    sleep: (duration, options = {}) =>
      settled(execution, () => {
        const ms = milliseconds(duration, 'sleep')
        return sleep(execution, execution.enter(options.label ?? 'sleep'), () => execution.clock.now() + ms)
      }),
    now: () => value(execution, 'now', () => execution.clock.now()),
    random: () => value(execution, 'random', Math.random),
    uuid: () => value(execution, 'uuid', () => crypto.randomUUID()),
    emit: (name, data) => emit(execution, name, data),
    all: (branches, options = {}) => settled(execution, () => all(execution, branches as never, options)) as never,
    map: (items, run, options = {}) => settled(execution, () => map(execution, items, run, options)),
    race: (branches: readonly (() => unknown)[], options: RaceOptions = {}) =>
      settled(execution, () => race(execution, branches, options)) as never,
    scope: (label, run) => settled(execution, () => scope(execution, label, run)),
    // Called on the context of whatever definition runs: that one's params are handed on.
    run(this: Context, node: unknown, input: unknown, options = {}) {
      return settled(execution, () => runNode(execution, this ?? context, { node, input, options })) as never
    },
    child: (definition, input, options = {}) =>
      settled(execution, () => child(execution, children, { definition, input, options })) as never,
    messages: (name = 'message') => settled(execution, () => messages(execution, name)),
    usage: () => ({ spent: execution.ledger.totals(), left: execution.ledger.left() }),
    checkpoint: (name, data) => settled(execution, () => checkpoint(execution, name, data)),
  }
  return context
}

/**
 * Code that goes on after its run has ended or was given up here (a promise that nobody waited for) gets nowhere, and harms
 * nothing: an error would be one that nobody handles, which ends the process.
 */
function isOver(execution: Execution): boolean {
  return execution.over !== undefined
}

/** Errors made while calling become rejections. */
function settled<Value>(execution: Execution, call: () => Promise<Value>): Promise<Value> {
  if (isOver(execution)) return never()
  try {
    return handled(call())
  } catch (error) {
    return handled(Promise.reject(error))
  }
}

function gateOptions(options: AskOptions): AskOptions<string, unknown> {
  return options.choices === undefined && options.schema === undefined
    ? { ...options, choices: ['approve', 'reject'] }
    : options
}

/** A value that must be the same on every replay. Committed before anything that can depend on it. */
function value<Value>(execution: Execution, label: string, make: () => Value): Value {
  if (isOver(execution)) return make()
  const place = execution.enter(label)
  place.delivered = true
  const recorded = execution.take(place.path, 'value')
  if (recorded?.type === 'value-recorded') return recorded.value as Value
  const made = make()
  execution.append({ type: 'value-recorded', path: place.path, value: made, ...after(place) })
  return made
}

function emit(execution: Execution, name: string, data: unknown): void {
  if (isOver(execution)) return
  const place = execution.enter('emit')
  place.delivered = true
  if (execution.take(place.path, 'emit') !== undefined) return
  execution.append({
    type: 'emitted',
    path: place.path,
    name,
    ...after(place),
    ...(data === undefined ? {} : { data }),
  })
}

async function checkpoint(execution: Execution, name: string, data: unknown): Promise<void> {
  if (typeof name !== 'string' || name === '') throw new NerveError('bad-option', 'A checkpoint needs a name.')
  const place = execution.enter(`checkpoint-${name}`)
  if (execution.take(place.path, 'checkpoint') !== undefined) return execution.turn(place)
  await execution.commit(
    {
      type: 'checkpoint-recorded',
      path: place.path,
      name,
      ...after(place),
      ...(data === undefined ? {} : { data }),
    },
    place,
  )
}

async function messages(execution: Execution, name: string): Promise<unknown[]> {
  const place = execution.enter('messages')
  const recorded = execution.take(place.path, 'messages')
  if (recorded?.type === 'messages-taken') {
    await execution.turn(place)
    return recorded.value as unknown[]
  }
  const found = execution.state.signals.filter((signal) => signal.name === name)
  const texts = found.map((signal) => signal.value)
  await execution.commit(
    {
      type: 'messages-taken',
      path: place.path,
      signals: found.map((signal) => signal.seq),
      value: texts,
      ...after(place),
    },
    place,
  )
  return texts
}
