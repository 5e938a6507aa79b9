/** Reading journals back: rows to entries, in pages. */
import { decodeEvent } from '../journal/codec.ts'
import type { Entry } from '../journal/events.ts'
import type { JournalStore } from '../journal/port.ts'

const PAGE = 4_000

export async function readEntries(store: JournalStore, run: string, after = 0): Promise<Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const rows = await store.read(run, after, PAGE)
    for (const row of rows) entries.push({ run, seq: row.seq, time: row.time, event: decodeEvent(row) })
    if (rows.length < PAGE) return entries
    after = rows.at(-1)?.seq ?? after
  }
}
