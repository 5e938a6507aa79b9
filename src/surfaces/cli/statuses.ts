/** The statuses that runs are shown with. Like command-table.ts, it loads nothing. */
import type { ShownStatus } from '../../journal/events.ts'

const ALL: Readonly<Record<ShownStatus, true>> = {
  ...{ queued: true, running: true, waiting: true, paused: true, exhausted: true, crashed: true },
  ...{ completed: true, 'completed-with-failures': true, failed: true, cancelled: true },
}

export const STATUSES = Object.keys(ALL) as ShownStatus[]
