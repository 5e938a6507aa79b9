/** A store in memory that remembers every commit, so that a test can stop the world after any of them. */
import { encodeEvent } from '../../src/journal/codec.ts'
import type { Entry } from '../../src/journal/events.ts'
import { fold } from '../../src/journal/fold.ts'
import { emptyState } from '../../src/journal/run-state.ts'
import { headOf } from '../../src/journal/head.ts'
import type { Append, AppendResult } from '../../src/journal/port.ts'
import { MemoryStore } from '../../src/stores/memory-store.ts'

export class RecordingStore extends MemoryStore {
  readonly commits: (readonly Append[])[] = []

  override async append(batch: readonly Append[]): Promise<readonly AppendResult[]> {
    const results = await super.append(batch)
    this.commits.push(batch.filter((_, index) => results[index] === 'ok'))
    return results
  }

  /** What a crash after the first `count` commits would have left: their owner is gone, and its word stands. */
  async crashedAfter(count: number): Promise<RecordingStore> {
    const store = new RecordingStore()
    for (const batch of this.commits.slice(0, count)) await store.append(batch.map(withoutCommands))
    return store
  }
}

function withoutCommands(append: Append): Append {
  const { settle: _settle, ...rest } = append
  return rest
}

/** A store with one run, cut off after any of its events. */
export async function storeOf(entries: readonly Entry[]): Promise<RecordingStore> {
  const store = new RecordingStore()
  const run = entries[0]?.run ?? ''
  const state = emptyState(run)
  for (const { seq, time, event } of entries) fold(state, seq, time, event)
  const rows = entries.map(({ seq, time, event }) => encodeEvent(event, seq, time))
  await store.append([{ run, epoch: 1, rows, head: headOf(state), create: { host: 'gone' } }])
  return store
}
