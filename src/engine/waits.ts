/** Waiting: questions, signals and timers. Each is an event when it starts and an event when it ends. */
import { checkKnown } from '../base/check-known.ts'
import { milliseconds } from '../base/duration.ts'
import { isRecord } from '../base/json-schema.ts'
import { NerveError } from '../base/nerve-error.ts'
import { parseWith, type Schema } from '../base/schema.ts'
import { isPlainValue } from '../base/value.ts'
import type { Actor, JournalEvent, QuestionAsked, QuestionKind } from '../journal/events.ts'
import type { AskOptions, StepAskOptions, WaitOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { never } from './held-back.ts'
import { stoppedBy, type Place, type Scope } from './scope.ts'

/** A wait that this process holds open for the author's code. */
export interface OpenWait {
  readonly scope: Scope
  /** The call whose function asks. */
  readonly of?: object
  readonly question?: OpenAsk
  readonly signal?: { readonly name: string; readonly take: (seq: number, value: unknown) => void }
  /** Drops timers; the wait stays in the journal. */
  forget(): void
  /** Ends the wait for good, in the journal too. */
  withdraw(error: unknown): void
}

export interface OpenAsk {
  readonly asked: QuestionAsked
  readonly schema: Schema | undefined
  readonly accept: (value: unknown, actor: Actor) => Promise<void>
}

const ASK = ['choices', 'schema', 'deadline', 'onDeadline', 'label', 'detail'] as const

export function ask(
  execution: Execution,
  prompt: string,
  options: AskOptions<string, unknown>,
  kind: QuestionKind,
): Promise<unknown> {
  checkKnown(`ctx.${kind}`, options, ASK)
  checkAsk(prompt, options)
  const place = execution.enter(options.label ?? kind)
  return askAt(execution, place, { prompt, options, kind })
}

export interface Asking {
  readonly prompt: string
  readonly options: AskOptions<string, unknown> & Pick<StepAskOptions, 'free'>
  readonly kind: QuestionKind
  /** The path to ask under, when it is not the place's own (questions about a step). */
  readonly path?: string
  readonly attempt?: number
}

export function askAt(execution: Execution, place: Place, asking: Asking): Promise<unknown> {
  const path = asking.path ?? place.path
  const recorded = execution.take(path, 'question')
  if (recorded?.type === 'question-answered') return execution.turn(place, path).then(() => recorded.value)
  if (recorded?.type === 'question-expired')
    return execution.turn(place, path).then(() => Promise.reject(deadlinePassed(path)))
  const { schema } = asking.options
  const open = (asked: QuestionAsked): Promise<unknown> =>
    new Promise((resolve, reject) => openQuestion(execution, place, { asked, schema, resolve, reject }))
  if (recorded?.type === 'question-asked') return open(recorded)
  return whenLive(execution, place, () => open(newQuestion(execution, place, asking)))
}

/**
 * Nothing is opened while the journal is replayed: what wants it may be stopped by what is recorded after it, and would
 * until then take a signal, or put a question, that is not its own.
 */
function whenLive<Value>(execution: Execution, place: Place, open: () => Promise<Value>): Promise<Value> {
  const { replayEnd } = execution
  if (replayEnd === undefined) return open()
  return replayEnd.then(() => {
    if (execution.over !== undefined) return never()
    const stopped = stoppedBy(place.scope)
    if (stopped !== undefined) throw stopped
    return open()
  })
}

export function newQuestion(execution: Execution, place: Place, asking: Asking): QuestionAsked {
  const { options, kind, prompt, attempt } = asking
  const { choices, deadline, onDeadline, detail, schema, free } = options
  const asked: QuestionAsked = {
    type: 'question-asked',
    path: asking.path ?? place.path,
    id: `${execution.run}-${execution.state.seq + 1}`,
    kind,
    prompt,
    ...(place.after === undefined ? {} : { after: place.after }),
    ...(choices === undefined ? {} : { choices }),
    ...(schema === undefined ? {} : { schema: true }),
    ...(free === undefined ? {} : { free }),
    ...(deadline === undefined ? {} : { deadline: execution.clock.now() + milliseconds(deadline, 'deadline') }),
    ...(onDeadline === undefined ? {} : { onDeadline }),
    ...(attempt === undefined ? {} : { attempt }),
    ...(detail === undefined ? {} : { detail }),
  }
  execution.append(asked)
  return asked
}

interface Opening {
  /** For a question of a step's function: its call. The answer then comes when it is durable, not in turn. */
  readonly of?: object
  readonly asked: QuestionAsked
  readonly schema: Schema | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export function openQuestion(execution: Execution, place: Place, opening: Opening): void {
  const { of, asked, schema, resolve, reject } = opening
  const { path, id, deadline } = asked
  const end = (event: JournalEvent, then: () => void): Promise<void> => {
    return new Promise((done) => {
      // First the append: it refuses a value that cannot be kept, and then the question stays open.
      const ended = (): void => {
        then()
        done()
      }
      execution.append(event, ended, of === undefined ? place : undefined)
      close()
    })
  }
  const expire = (): void => {
    const action = asked.onDeadline ?? 'fail'
    if (typeof action === 'object') {
      void end({ type: 'question-answered', path, id, value: action.default, by: 'deadline' }, () =>
        resolve(action.default),
      )
    } else {
      const passed = (): void => reject(execution.root.scope.stopped ?? deadlinePassed(path))
      void end({ type: 'question-expired', path, id, action }, passed)
      // In the same commit: no crash can come between the deadline and what it does.
      if (action === 'cancel')
        execution.tree.cancelRun(execution, { by: 'deadline', reason: `question ${id} was not answered in time` })
    }
  }
  const disarm = deadline === undefined ? undefined : execution.clock.at(deadline, expire)
  const close = (): void => {
    disarm?.()
    execution.waits.delete(path)
  }
  execution.waits.set(path, {
    scope: place.scope,
    ...(of === undefined ? {} : { of }),
    question: {
      asked,
      schema,
      accept: (value, actor) =>
        end({ type: 'question-answered', path, id, ...(value === undefined ? {} : { value }), ...actor }, () =>
          resolve(value),
        ),
    },
    forget: () => disarm?.(),
    withdraw: (error) => void end({ type: 'question-withdrawn', path, id }, () => rejectWith(reject, error)),
  })
}

export function waitFor(execution: Execution, name: string, options: WaitOptions): Promise<unknown> {
  if (typeof name !== 'string' || name === '') throw new NerveError('bad-option', 'waitFor needs the name of a signal.')
  checkKnown('ctx.waitFor', options, ['deadline', 'schema', 'label'])
  const place = execution.enter(options.label ?? `wait-${name}`)
  const { path } = place
  const recorded = execution.take(path, 'wait')
  if (recorded?.type === 'signal-taken') {
    return execution.turn(place).then(() => checkSignal(options.schema, name, recorded.value))
  }
  if (recorded?.type === 'wait-expired') return execution.turn(place).then(() => Promise.reject(deadlinePassed(path)))
  const open = async (deadline: number | undefined): Promise<unknown> => {
    const taken = new Promise((resolve, reject) =>
      openSignalWait(execution, place, { name, deadline, resolve, reject }),
    )
    // What is recorded after this wait may stop it: then the signal is for another one.
    if (execution.replayEnd === undefined) dispatchSignals(execution)
    else void execution.replayEnd.then(() => dispatchSignals(execution))
    return checkSignal(options.schema, name, await taken)
  }
  if (recorded?.type === 'wait-started') return open(recorded.deadline)
  return whenLive(execution, place, () => {
    const wanted = options.deadline
    const until = wanted === undefined ? undefined : execution.clock.now() + milliseconds(wanted, 'deadline')
    const deadline = until === undefined ? {} : { deadline: until }
    execution.append({ type: 'wait-started', path, name, ...after(place), ...deadline })
    return open(until)
  })
}

interface SignalOpening {
  readonly name: string
  readonly deadline: number | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

function openSignalWait(execution: Execution, place: Place, opening: SignalOpening): void {
  const { path } = place
  const { name, deadline, resolve, reject } = opening
  const expire = (): void => {
    execution.waits.delete(path)
    execution.append({ type: 'wait-expired', path }, () => reject(deadlinePassed(path)), place)
  }
  const disarm = deadline === undefined ? undefined : execution.clock.at(deadline, expire)
  const close = (): void => {
    disarm?.()
    execution.waits.delete(path)
  }
  execution.waits.set(path, {
    scope: place.scope,
    signal: {
      name,
      take(seq, value) {
        close()
        execution.append(
          { type: 'signal-taken', path, name, signal: seq, ...(value === undefined ? {} : { value }) },
          () => resolve(value),
          place,
        )
      },
    },
    forget: () => disarm?.(),
    withdraw(error) {
      close()
      execution.append({ type: 'wait-withdrawn', path }, () => rejectWith(reject, error))
    },
  })
}

/** Hands signals that nobody has taken to the waits for them, each in its order. */
export function dispatchSignals(execution: Execution): void {
  if (execution.state.signals.length === 0 || execution.closed !== undefined) return
  for (const wait of [...execution.waits.values()]) {
    const { signal } = wait
    if (signal === undefined) continue
    const found = execution.state.signals.find((one) => one.name === signal.name)
    if (found !== undefined) signal.take(found.seq, found.value)
  }
}

export function sleep(execution: Execution, place: Place, until: () => number): Promise<void> {
  const { path } = place
  const recorded = execution.take(path, 'timer')
  if (recorded?.type === 'timer-fired') return execution.turn(place)
  if (recorded?.type === 'timer-set') return openTimer(execution, place, recorded.until)
  return whenLive(execution, place, () => {
    const at = until()
    execution.append({ type: 'timer-set', path, until: at, ...after(place) })
    return openTimer(execution, place, at)
  })
}

function openTimer(execution: Execution, place: Place, at: number): Promise<void> {
  const { path } = place
  return new Promise((resolve, reject) => {
    const fire = (): void => {
      execution.waits.delete(path)
      execution.append({ type: 'timer-fired', path }, resolve, place)
    }
    const disarm = execution.clock.at(at, fire)
    execution.waits.set(path, {
      scope: place.scope,
      forget: disarm,
      withdraw(error) {
        disarm()
        execution.waits.delete(path)
        execution.append({ type: 'wait-withdrawn', path }, () => rejectWith(reject, error))
      },
    })
  })
}

function checkSignal(schema: Schema | undefined, name: string, value: unknown): Promise<unknown> {
  return schema === undefined
    ? Promise.resolve(value)
    : parseWith(schema, value, { code: 'bad-input', what: `The signal '${name}'` })
}

export function checkAsk(prompt: unknown, options: Asking['options']): void {
  if (typeof prompt !== 'string' || prompt === '') throw new NerveError('bad-option', 'A question needs a text to ask.')
  const { choices, onDeadline, free } = options
  if (free !== undefined && (!isRecord(free) || !isPlainValue(free)))
    throw new NerveError('bad-option', `The question '${prompt}' has free that is not a JSON Schema: give plain JSON.`)
  if (choices !== undefined && !areChoices(choices)) {
    throw new NerveError('bad-option', `The question '${prompt}' needs at least one choice, each given once.`)
  }
  if (onDeadline !== undefined && options.deadline === undefined) {
    throw new NerveError('bad-option', `The question '${prompt}' has onDeadline without a deadline.`)
  }
  const taken = typeof onDeadline === 'object' ? onDeadline.default : undefined
  if (taken !== undefined && !isPlainValue(taken))
    throw new NerveError('bad-option', `The question '${prompt}' has a default that is not plain JSON.`)
}

function areChoices(choices: readonly unknown[]): boolean {
  if (!isList(choices) || choices.length === 0 || new Set(choices).size !== choices.length) return false
  return choices.every((choice) => typeof choice === 'string')
}

function isList(value: unknown): boolean {
  return Array.isArray(value)
}

/** Without an error the run is over by itself: code that nobody waited for goes no further, and nobody hears of it. */
export function rejectWith(reject: (error: unknown) => void, error: unknown): void {
  if (error !== undefined) reject(error)
}

export function after(place: Pick<Place, 'after'>): { readonly after?: string } {
  return place.after === undefined ? {} : { after: place.after }
}

function deadlinePassed(path: string): NerveError {
  return new NerveError('deadline-passed', `The deadline of '${path}' passed without an answer.`, { data: { path } })
}
