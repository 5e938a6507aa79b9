/** What an execution is made of. */
import type { Clock } from '../base/clock.ts'
import type { Durability, ResumePlan } from '../journal/events.ts'
import type { Outcomes } from '../journal/outcomes.ts'
import type { RunState } from '../journal/run-state.ts'
import type { Bus } from './bus.ts'
import type { Committer } from './committer.ts'
import type { AnyDefinition, Names } from './definition.ts'
import type { Execution } from './execution.ts'
import type { Place } from './scope.ts'
import type { Tree } from './tree.ts'

export interface ExecutionOptions {
  readonly tree: Tree
  readonly definition: AnyDefinition
  readonly state: RunState
  readonly outcomes: Outcomes | undefined
  readonly parent: Execution | undefined
  readonly names: Names
  /** For a child that its parent's code started: where. */
  readonly origin?: Place
  readonly durability: Durability
  readonly host: string
  /** The run exists only in memory so far: its first commit creates it. */
  readonly fresh: boolean
  /** Replays only, and never writes or starts anything: called with what was found when the code rests. */
  readonly dry?: (plan: ResumePlan) => void
}

export interface EngineParts {
  readonly clock: Clock
  readonly bus: Bus
  readonly committer: Committer
}
