/** Reading journals back: rows to entries, in pages. A row that cannot be read, or is not there, is named. */
import { isNerveError, NerveError } from '../base/nerve-error.ts'
import { decodeEvent, type Row } from '../journal/codec.ts'
import type { Entry, JournalEvent } from '../journal/events.ts'
import type { JournalStore } from '../journal/port.ts'

const PAGE = 4_000

export async function readEntries(store: JournalStore, run: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const page = await readPage(store, run, { after: entries.length, limit: PAGE })
    for (const entry of page) entries.push(entry)
    if (page.length < PAGE) return entries
  }
}

/** The next events after a number; fewer than the limit when there are no more. */
export async function readPage(
  store: JournalStore,
  run: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<Entry[]> {
  const rows = await store.read(run, after, limit)
  return rows.map((row, index) => {
    // A missing event would make the run do again what it says, silently.
    if (row.seq !== after + index + 1) throw damaged(run, `event ${after + index + 1} is missing`)
    return { run, seq: row.seq, time: row.time, event: eventOf(run, row) }
  })
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
