import type { JournalEvent } from '../journal/events.ts'
import type { Execution } from './execution.ts'
import type { Watchers } from './watchers.ts'

/** Writes the first events of a run, and resolves when they are committed. `undo` is for a run that cannot begin. */
export function firstCommit(
  execution: Execution,
  watchers: Watchers,
  { events, undo }: { readonly events: readonly JournalEvent[]; readonly undo: () => void },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const forget = watchers.onFailure(execution.run, reject)
    const committed = (): void => {
      forget()
      resolve()
    }
    try {
      for (const [index, event] of events.entries())
        execution.append(event, index === events.length - 1 ? committed : undefined)
    } catch (error) {
      forget()
      undo()
      reject(error)
    }
  })
}
