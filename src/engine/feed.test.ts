import { describe, expect, it } from 'vitest'
import { encodeEvent } from '../journal/codec.ts'
import type { JournalEvent } from '../journal/events.ts'
import { fold } from '../journal/fold.ts'
import { emptyState } from '../journal/run-state.ts'
import { headOf } from '../journal/head.ts'
import { MemoryStore } from '../stores/memory-store.ts'
import { Bus } from './bus.ts'
import { feed, type FeedItem, type FeedOptions } from './feed.ts'

/** A run that a test writes, as the committer does: first to the store, then to the bus. */
class Scribe {
  readonly store = new MemoryStore()
  readonly bus = new Bus((error) => {
    throw error
  })
  readonly #state = emptyState('r')

  async write(event: JournalEvent, told = true): Promise<void> {
    const seq = this.#state.seq + 1
    fold(this.#state, seq, seq, event)
    const create = seq === 1 ? { create: { host: 'h' } } : {}
    await this.store.append([
      { run: 'r', epoch: 1, rows: [encodeEvent(event, seq, seq)], head: headOf(this.#state), ...create },
    ])
    if (told) this.bus.publish({ run: 'r', seq, time: seq, event })
  }

  async writeSteps(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1)
      await this.write({ type: 'step-completed', path: `s${i}`, attempt: 1, started: 0 })
  }

  part(data: number): void {
    this.bus.part({ live: true, run: 'r', path: 's', type: 'text-delta', data })
  }

  feed(options: FeedOptions = {}): AsyncGenerator<FeedItem, void, void> {
    return feed(this.store, this.bus, 'r', options)
  }
}

const CREATED: JournalEvent = { type: 'run-created', format: 1, definition: 'd', root: 'r', depth: 0 }
const END: JournalEvent = { type: 'run-completed', failures: 0 }

async function collect(items: AsyncIterable<FeedItem>): Promise<FeedItem[]> {
  const found: FeedItem[] = []
  for await (const item of items) found.push(item)
  return found
}

const seqs = (items: readonly FeedItem[]): unknown[] => items.flatMap((item) => ('seq' in item ? [item.seq] : []))
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

describe('a feed', () => {
  it('of a slow reader loses no event, however many come while it is away', async () => {
    const scribe = new Scribe()
    await scribe.write(CREATED)
    const reader = scribe.feed()
    const first = await reader.next()
    await scribe.writeSteps(5_000)
    await scribe.write(END)
    const rest = await collect(reader)
    expect(seqs([first.value as FeedItem, ...rest])).toEqual(upTo(5_002))
  })

  it('tells a slow reader how many live parts it missed, and still loses no event', async () => {
    const scribe = new Scribe()
    await scribe.write(CREATED)
    const reader = scribe.feed({ live: true })
    await reader.next()
    for (let i = 0; i < 3_000; i += 1) scribe.part(i)
    await scribe.writeSteps(3)
    scribe.part(3_000)
    await scribe.write(END)
    const rest = await collect(reader)
    expect(seqs(rest)).toEqual([2, 3, 4, 5])
    const parts = rest.filter((item) => item.type === 'text-delta')
    const dropped = rest.flatMap((item) => (item.type === 'gap' && 'dropped' in item ? [item.dropped] : []))
    expect(dropped.length).toBeGreaterThan(0)
    expect(parts.length + dropped.reduce((sum, one) => sum + one, 0)).toBe(3_001)
    expect(rest.at(-1)?.type).toBe('run-completed')
  })

  it('gives live parts in their place among the events, to a reader that keeps up', async () => {
    const scribe = new Scribe()
    await scribe.write(CREATED)
    const reader = scribe.feed({ live: true })
    await reader.next()
    scribe.part(1)
    scribe.part(2)
    await scribe.writeSteps(1)
    scribe.part(3)
    await scribe.write(END)
    const rest = await collect(reader)
    const came = rest.map((item) => ('data' in item ? item.data : item.type))
    expect(came.filter((one) => typeof one === 'number')).toEqual([1, 2, 3])
    expect(came.indexOf(2)).toBeLessThan(came.indexOf('step-completed'))
    expect(came.at(-1)).toBe('run-completed')
    expect(came).toHaveLength(5)
  })

  it('hears of events that another process wrote', async () => {
    const scribe = new Scribe()
    await scribe.write(CREATED)
    const reader = scribe.feed()
    await reader.next()
    for (let i = 0; i < 3; i += 1) await scribe.write({ type: 'run-recovered', owner: 'h', epoch: 2 }, false)
    await scribe.write(END, false)
    expect(seqs(await collect(reader))).toEqual([2, 3, 4, 5])
  })

  it('begins after its cursor, and leaves no subscription behind when its reader goes', async () => {
    const scribe = new Scribe()
    await scribe.write(CREATED)
    await scribe.writeSteps(3)
    const reader = scribe.feed({ after: 2 })
    expect(((await reader.next()).value as { seq: number }).seq).toBe(3)
    await reader.return()
    await scribe.write(END)
    expect(seqs(await collect(scribe.feed({ after: 4 })))).toEqual([5])
    expect(await collect(scribe.feed({ after: 5 }))).toEqual([])
  })

  it('that begins after an event that is not there yet ends with the run', async () => {
    const scribe = new Scribe()
    // As a database does it, which tells only of what other processes wrote.
    scribe.store.version = () => 0
    await scribe.write(CREATED)
    const reader = scribe.feed({ after: 50, live: true })
    const first = reader.next()
    scribe.part(1)
    expect((await first).value?.type).toBe('text-delta')
    const rest = collect(reader)
    await scribe.writeSteps(1)
    await scribe.write(END)
    expect(await rest).toEqual([])
  }, 5_000)

  it('that is not asked for live parts gives none', async () => {
    const scribe = new Scribe()
    await scribe.write(CREATED)
    const reader = scribe.feed()
    await reader.next()
    scribe.part(1)
    await scribe.write(END)
    expect((await collect(reader)).map((item) => item.type)).toEqual(['run-completed'])
  })

  it('of a long journal has a little of it in memory at a time', async () => {
    const scribe = new Scribe()
    await scribe.write(CREATED)
    await scribe.writeSteps(1_000)
    await scribe.write(END)
    const read = scribe.store.read.bind(scribe.store)
    let most = 0
    scribe.store.read = async (...asked) => {
      const rows = await read(...asked)
      most = Math.max(most, rows.length)
      return rows
    }
    for (const once of [false, true]) expect(seqs(await collect(scribe.feed({ once })))).toEqual(upTo(1_002))
    expect(most).toBeLessThanOrEqual(100)
  })

  it('of a long journal lets others have their turn while it is read', async () => {
    const scribe = new Scribe()
    await scribe.write(CREATED)
    await scribe.writeSteps(20_000)
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    const began = performance.now()
    await collect(scribe.feed({ once: true }))
    const took = performance.now() - began
    clearInterval(timer)
    expect(turns).toBeGreaterThan(took / 50)
  })
})
