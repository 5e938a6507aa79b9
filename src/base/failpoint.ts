/**
 * Named places where a test can kill this process with SIGKILL: NERVE_FAILPOINT=name or name:3 for its third passing.
 * Without the variable a failpoint costs one comparison.
 */
export type Failpoint =
  | 'commit-before'
  | 'commit-after'
  | 'deliver-before'
  | 'step-before'
  | 'step-after'
  | 'claim-after'
  | 'recover-before'
  | 'park-before'
  | 'answer-before'
  | 'fork-before'
  | 'finish-before'

const setting = process.env['NERVE_FAILPOINT']
const [armed, count] = setting === undefined ? [] : setting.split(':')
let left = Number(count ?? 1)

export function failpoint(name: Failpoint): void {
  if (armed !== name) return
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGKILL')
}
