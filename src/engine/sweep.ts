/**
 * What a dead process left open in a part of the run that the code does not go into again: the losers of a decided
 * race, the siblings of a failed branch, paths that an accepted plan gave up. A replay never reaches it, so it is ended
 * here, once the replay is over; else the run would look busy, or ask its question, for ever.
 */
import type { Execution } from './execution.ts'

/** `paths` are the recorded paths that the replay did not reach. */
export function sweep(execution: Execution, paths: Iterable<string>): void {
  const { inFlight, waits, children } = execution.state
  for (const path of paths) {
    const lost = inFlight.get(path)
    const wait = waits.get(path)
    const child = children.get(path)
    if (lost !== undefined) execution.append({ type: 'step-stopped', path, attempt: lost.attempt, reason: 'scope' })
    else if (wait?.kind === 'question') execution.append({ type: 'question-withdrawn', path, id: wait.question.id })
    else if (wait !== undefined) execution.append({ type: 'wait-withdrawn', path })
    if (child !== undefined) execution.tree.abandon(execution, path, child)
  }
}
