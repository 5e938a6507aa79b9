/**
 * Named places where a test can kill this process with SIGKILL: NERVE_FAILPOINT=name or name:3 for its third passing.
 * Without the variable a failpoint costs two comparisons.
 */
export const FAILPOINTS = [
  'commit-before',
  /** Inside the store's transaction: everything is written and nothing is committed. */
  'commit-half',
  'commit-after',
  'deliver-before',
  'step-before',
  'step-after',
  'claim-after',
  'recover-before',
  /** Everything recorded has been replayed, and nothing new has been written. */
  'replay-after',
  'park-before',
  /** The run is nobody's. */
  'release-after',
  'answer-before',
  'post-after',
  'fork-before',
  'finish-before',
] as const

export type Failpoint = (typeof FAILPOINTS)[number]

const setting = process.env['NERVE_FAILPOINT']
const [armed, count] = setting === undefined ? [] : setting.split(':')
let left = Number(count ?? 1)

let passings: Map<Failpoint, number> | undefined

/** From now on, how often each failpoint is passed: what a test can kill at. */
export function countPassings(): ReadonlyMap<Failpoint, number> {
  return (passings ??= new Map())
}

export function failpoint(name: Failpoint): void {
  passings?.set(name, (passings.get(name) ?? 0) + 1)
  if (armed !== name) return
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGKILL')
}
