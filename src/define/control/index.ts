/** Every control node, and every form of one as data. A new one is a file, and a line in each of the lists. */
import { branchForm } from './branch.ts'
import type { ControlForm } from './control.ts'
import { forkForm } from './fork.ts'
import { gateForm } from './gate.ts'
import { loopForm } from './loop.ts'
import { mapForm } from './map.ts'
import { parallelForm } from './parallel.ts'
import { raceForm } from './race.ts'
import { reduceForm } from './reduce.ts'
import { subgraphForm } from './subgraph.ts'
import { switchForm } from './switch.ts'
import { whileForm } from './while.ts'

export { Branch, type BranchOptions } from './branch.ts'
export { Fork, type ForkNodeOptions, type Forked } from './fork.ts'
export { Gate, type GateOptions } from './gate.ts'
export { Loop, type LoopOptions } from './loop.ts'
export { Map, type ItemPolicy, type MapNodeOptions } from './map.ts'
export { Parallel, type ParallelMode, type ParallelOptions } from './parallel.ts'
export { Race, type RaceNodeOptions, type RaceResult } from './race.ts'
export { Reduce, type ReduceOptions, type Reduction } from './reduce.ts'
export { Subgraph, type SubgraphOptions } from './subgraph.ts'
export { Switch, type SwitchOptions } from './switch.ts'
export { While, type WhileOptions } from './while.ts'
export type { ControlFacts, ControlForm, ControlNode, LoopResult, LoopState } from './control.ts'
export type { Settled } from './settled.ts'

export const CONTROL_FORMS: readonly ControlForm[] = [
  whileForm,
  loopForm,
  branchForm,
  switchForm,
  mapForm,
  reduceForm,
  parallelForm,
  raceForm,
  gateForm,
  forkForm,
  subgraphForm,
]
