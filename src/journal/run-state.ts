/** The state of a run: what its events come to. Only `fold` writes to it. */
import type { ErrorData } from '../base/nerve-error.ts'
import type {
  Budget,
  Dimension,
  Durability,
  Effect,
  ErrorPolicy,
  QuestionAsked,
  RunCreated,
  RunStatus,
} from './events.ts'

export interface InFlight {
  readonly attempt: number
  readonly started: number
  readonly effect: Effect
}

export type Wait =
  | { readonly kind: 'question'; readonly since: number; readonly question: QuestionAsked }
  | { readonly kind: 'timer'; readonly since: number; readonly until: number }
  | { readonly kind: 'signal'; readonly since: number; readonly name: string; readonly until?: number }
  | { readonly kind: 'retry' | 'quota'; readonly since: number; readonly until: number; readonly attempt: number }

export interface PendingSignal {
  readonly seq: number
  readonly name: string
  readonly value?: unknown
}

/** Mutable on purpose: the fold is the hot path of the engine. Only `fold` writes to it. */
export interface RunState {
  run: string
  seq: number
  created: number
  updated: number
  ended: number | undefined
  definition: string
  source: string | undefined
  input: unknown
  params: Readonly<Record<string, unknown>>
  budget: Budget | undefined
  durability: Durability | undefined
  errorPolicy: ErrorPolicy
  parent: { readonly run: string; readonly path: string } | undefined
  root: string
  depth: number
  forkedFrom: RunCreated['forkedFrom']
  inFlight: Map<string, InFlight>
  /** What functions of steps that have no outcome yet have kept, and the last answers they got, by path. */
  kept: Map<string, unknown>
  answered: Map<string, unknown>
  waits: Map<string, Wait>
  children: Map<string, string>
  signals: PendingSignal[]
  warned: Set<Dimension>
  usage: { usd: number; tokens: number; calls: number; steps: number; seconds: number; window: number }
  steps: number
  failures: number
  questions: number
  paused: boolean
  /** The limit that was reached, and the run whose it is, when that is a child. */
  exhausted: { readonly dimension: Dimension; readonly of?: string } | undefined
  cancelRequested: boolean
  end: RunStatus | undefined
  output: unknown
  error: ErrorData | undefined
  /** Counts the changes that lists show. */
  headVersion: number
}

export function emptyState(run: string): RunState {
  return {
    run,
    seq: 0,
    created: 0,
    updated: 0,
    ended: undefined,
    definition: '',
    source: undefined,
    input: undefined,
    params: {},
    budget: undefined,
    durability: undefined,
    errorPolicy: 'stop',
    parent: undefined,
    root: run,
    depth: 0,
    forkedFrom: undefined,
    inFlight: new Map(),
    kept: new Map(),
    answered: new Map(),
    waits: new Map(),
    children: new Map(),
    signals: [],
    warned: new Set(),
    usage: { usd: 0, tokens: 0, calls: 0, steps: 0, seconds: 0, window: 0 },
    steps: 0,
    failures: 0,
    questions: 0,
    paused: false,
    exhausted: undefined,
    cancelRequested: false,
    end: undefined,
    output: undefined,
    error: undefined,
    headVersion: 0,
  }
}

/** True for a fork that has done nothing yet but take over what it shares with its origin. */
export function isNewFork({ forkedFrom, seq }: RunState): boolean {
  return forkedFrom?.kept === seq - 1
}
