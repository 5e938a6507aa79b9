/**
 * Running a definition over a journal with no effects: nothing is written and no step starts. Used to plan a resume
 * over changed code, and to replay recorded runs as tests.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import { NerveError, errorData } from '../base/nerve-error.ts'
import { decodeValue, encodeValue } from '../base/value.ts'
import type { Entry, ResumePlan } from '../journal/events.ts'
import { foldAll } from '../journal/fold.ts'
import { outcomesOf, withoutEnd } from '../journal/outcomes.ts'
import type { JournalStore } from '../journal/port.ts'
import { Bus } from './bus.ts'
import type { ChildStarter } from './child.ts'
import { Committer } from './committer.ts'
import { createContext } from './context.ts'
import type { AnyDefinition, Names } from './definition.ts'
import { Execution } from './execution.ts'
import { never } from './held-back.ts'
import { here } from './scope.ts'
import { Tree } from './tree.ts'

export interface Replayed {
  /** True when the current code does exactly what is recorded. */
  readonly same: boolean
  readonly plan: ResumePlan
  /** Steps that the current code wants to start and the journal does not have. */
  readonly started: readonly string[]
  readonly problems: readonly string[]
}

type End = { readonly output: unknown } | { readonly error: unknown } | undefined

export interface ReplayParts {
  readonly clock: Clock
  readonly names: Names
}

export async function replayRun(
  definition: AnyDefinition,
  entries: readonly Entry[],
  parts: ReplayParts,
): Promise<Replayed> {
  const run = entries[0]?.run ?? ''
  const state = foldAll(run, entries)
  const unended = withoutEnd(entries)
  const outcomes = outcomesOf(unended)
  const stage = dryStage(definition, { state: foldAll(run, unended), ...parts, outcomes })
  const end = await stage.finished
  // What was stopped or withdrawn has no outcome, and is no news all the same.
  const known = new Set(entries.map(({ event }) => ('path' in event ? event.path : undefined)))
  const started = state.end === undefined ? [] : stage.missed.filter((path) => !known.has(path))
  const problems = [
    ...(stage.plan.rerun.length > 0 ? [`the input changed at: ${stage.plan.rerun.join(', ')}`] : []),
    ...(stage.plan.unknown.length > 0 && state.end !== 'failed' && state.end !== 'cancelled'
      ? [`recorded but not reached: ${stage.plan.unknown.join(', ')}`]
      : []),
    ...(started.length > 0 && state.end !== 'cancelled' ? [`reached but not recorded: ${started.join(', ')}`] : []),
    ...endProblems(state, end),
  ]
  return { same: problems.length === 0, plan: stage.plan, started, problems }
}

function endProblems(state: ReturnType<typeof foldAll>, end: End): string[] {
  if (state.end === 'completed' || state.end === 'completed-with-failures') {
    if (end === undefined) return []
    if ('error' in end) return [`the run completed, and now fails: ${errorData(end.error).message}`]
    return isDeepStrictEqual(asRecorded(end.output), state.output)
      ? []
      : [`the result was ${show(state.output)}, and now is ${show(end.output)}`]
  }
  if (state.end === 'failed' && end !== undefined && 'output' in end)
    return [`the run failed (${state.error?.message}), and now completes`]
  return []
}

/** A result as a journal gives it back: without the fields that are undefined, for one. */
function asRecorded(output: unknown): unknown {
  const { text, tagged } = encodeValue(output, 'the result')
  return decodeValue(text, tagged)
}

interface Stage {
  plan: ResumePlan
  missed: readonly string[]
  finished: Promise<End>
}

interface Recording {
  readonly state: ReturnType<typeof foldAll>
  readonly clock: Clock
  readonly names: Names
  readonly outcomes: ReturnType<typeof outcomesOf>
}

function dryStage(definition: AnyDefinition, given: Recording): Stage {
  const { state, outcomes } = given
  const bus = new Bus(() => undefined)
  const committer = new Committer(refusingStore, bus)
  const stopped: Clock = { now: () => given.clock.now(), at: () => () => undefined }
  const tree = new Tree(state.run, 0, {
    idle: ignore,
    ended: ignore,
    lost: ignore,
    diverged: ignore,
    abandoned: ignore,
  })
  const stage: Stage = { plan: { keep: 0, rerun: [], unknown: [] }, missed: [], finished: Promise.resolve(undefined) }
  stage.finished = new Promise((resolve) => {
    let end: End
    let reached: number | undefined
    const execution = new Execution(
      { clock: stopped, bus, committer },
      {
        tree,
        definition,
        state,
        outcomes,
        parent: undefined,
        names: given.names,
        durability: 'process',
        host: 'replay',
        fresh: false,
        dry(plan) {
          stage.plan = plan
          stage.missed = execution.missed.slice(0, reached)
          execution.close(new NerveError('host-closed', 'The replay is over.'))
          resolve(end)
        },
      },
    )
    tree.add(execution)
    const settle = (how: NonNullable<End>): void => {
      end = how
      // What runs beside code that throws ends with it: live it gets no further.
      if ('error' in how) reached = execution.missed.length
      execution.settled = true
      committer.arm(execution)
    }
    const context = createContext(execution, NO_CHILDREN)
    const start = (): unknown => definition.run(context, state.input)
    new Promise((done) => done(here.run(execution.root, start))).then(
      (output) => settle({ output }),
      (error: unknown) => settle({ error }),
    )
  })
  return stage
}

/** In a replay a child either has its recorded end or is not gone into. */
const NO_CHILDREN: ChildStarter = { create: never, load: never, finished: never }

const refusingStore = new Proxy({} as JournalStore, {
  get: (_target, name) => () => {
    throw new Error(`a replay called ${String(name)} on the store`)
  },
})

function ignore(): void {
  // A replay has nobody to tell.
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
