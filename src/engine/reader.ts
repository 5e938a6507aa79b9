/** Reading journals back: rows to entries, in pages. A row that cannot be read, or is not there, is named. */
import { isNerveError, NerveError } from '../base/nerve-error.ts'
import { decodeEvent, type Row } from '../journal/codec.ts'
import type { Entry, JournalEvent } from '../journal/events.ts'
import type { JournalStore } from '../journal/port.ts'

const PAGE = 4_000

export async function readEntries(store: JournalStore, run: string, after = 0): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let last = after; ;) {
    const rows = await store.read(run, last, PAGE)
    for (const row of rows) {
      // A missing event would make the run do again what it says, silently.
      if (row.seq !== last + 1) throw damaged(run, `event ${last + 1} is missing`)
      last = row.seq
      entries.push({ run, seq: row.seq, time: row.time, event: eventOf(run, row) })
    }
    if (rows.length < PAGE) return entries
  }
}

function eventOf(run: string, row: Row): JournalEvent {
  try {
    return decodeEvent(row)
  } catch (cause) {
    throw isNerveError(cause, 'store-corrupt') ? damaged(run, cause.message, cause) : cause
  }
}

function damaged(run: string, what: string, cause?: unknown): NerveError {
  return new NerveError(
    'store-corrupt',
    `The journal of run ${run} is damaged: ${what}. Nothing was changed. Restore the database from a copy, or import the run.`,
    { data: { run }, ...(cause === undefined ? {} : { cause }) },
  )
}
