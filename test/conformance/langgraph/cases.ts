import type { Case } from './case.ts'
import { building } from './building.ts'
import { channels } from './channels.ts'
import { edges } from './edges.ts'
import { elsewhere } from './elsewhere.ts'
import { failures } from './failures.ts'
import { history } from './history.ts'
import { interrupts } from './interrupts.ts'
import { jumps } from './jumps.ts'
import { checkpointers } from './savers.ts'
import { loops, sends } from './sends.ts'
import { streams } from './streams.ts'
import { subgraphs } from './subgraphs.ts'
import { updates } from './updates.ts'

/** The whole table, by what the cases are about. */
export const AREAS: Readonly<Record<string, readonly Case[]>> = {
  channels,
  updates,
  edges,
  building,
  loops,
  sends,
  jumps,
  interrupts,
  subgraphs,
  history,
  failures,
  streams,
  checkpointers,
  elsewhere,
}
