/** Every control node as data, for specs. Apart from index.ts, which is what authors import. */
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
