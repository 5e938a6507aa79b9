/**
 * What every journal store must do, as a list of cases that throw when it does not: run them in any test runner.
 *
 * ```ts
 * import { describe, it } from 'vitest'
 * import { MemoryStore, storeConformance } from 'nerve/testing'
 *
 * describe('MemoryStore', () => {
 *   for (const { name, run } of storeConformance({ open: async () => new MemoryStore() })) it(name, run)
 * })
 * ```
 */
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert'
import { decodeEvent, encodeEvent, INLINE_LIMIT, type Row } from '../journal/codec.ts'
import type { Append, JournalStore } from '../journal/port.ts'
import {
  append,
  completed,
  create,
  created,
  head,
  ids,
  owner,
  plain,
  question,
  seqs,
  step,
  STRANGE_TEXTS,
} from './store-fixtures.ts'
import { COMMANDS, TWICE } from './shared-store-conformance.ts'

export interface StoreUnderTest {
  /** Opens a store with nothing in it. The case closes it. */
  readonly open: () => Promise<JournalStore>
  /** For stores on disk: opens what `store` holds a second time, as another process would. The case closes it. */
  readonly reopen?: (store: JournalStore) => Promise<JournalStore>
}

export interface ConformanceCase {
  readonly name: string
  readonly run: () => Promise<void>
}

export type Check = (store: JournalStore, under: StoreUnderTest) => Promise<void>

export function storeConformance(under: StoreUnderTest): readonly ConformanceCase[] {
  const cases = { ...JOURNAL, ...OWNERS, ...LISTS, ...COMMANDS, ...(under.reopen === undefined ? {} : TWICE) }
  return Object.entries(cases).map(([name, check]) => ({
    name,
    run: async () => {
      const store = await under.open()
      try {
        await check(store, under)
      } finally {
        await store.close()
      }
    },
  }))
}

const JOURNAL: Readonly<Record<string, Check>> = {
  'a run reads back as it was written': async (store) => {
    await create(store, 'r1')
    strictEqual(await append(store, 'r1', [step(2), step(3)]), 'ok')
    deepStrictEqual(await seqs(store, 'r1'), [1, 2, 3])
    deepStrictEqual((await store.read('r1', 1, 1)).map(plain), [plain(step(2))])
  },
  'an unknown run has nothing to read': async (store) => {
    deepStrictEqual(await store.read('nobody', 0, 10), [])
    strictEqual(await store.find('nobody'), undefined)
    strictEqual(await append(store, 'nobody', [step(1)]), 'fenced')
  },
  'reading pages: after a cursor, at most so many': async (store) => {
    await create(store, 'r1')
    const rows = Array.from({ length: 20 }, (_, index) => step(index + 2))
    await append(store, 'r1', rows)
    deepStrictEqual(await seqs(store, 'r1', 4, 3), [5, 6, 7])
    deepStrictEqual(await seqs(store, 'r1', 20, 10), [21])
    deepStrictEqual(await seqs(store, 'r1', 21, 10), [])
  },
  'a gap is refused, and nothing of it is kept': async (store) => {
    await create(store, 'r1')
    await rejects(append(store, 'r1', [step(3)]))
    await rejects(append(store, 'r1', [step(2), step(4)]))
    await rejects(append(store, 'r1', [step(2), step(4)], { head: head('r1', { status: 'failed' }) }))
    deepStrictEqual(await seqs(store, 'r1'), [1])
    strictEqual((await store.find('r1'))?.head.status, 'running')
  },
  'a number that is taken is refused': async (store) => {
    await create(store, 'r1')
    await rejects(append(store, 'r1', [step(1)]))
    await append(store, 'r1', [step(2)])
    await rejects(append(store, 'r1', [step(2)]))
    await rejects(append(store, 'r1', [step(2), step(3)]))
    deepStrictEqual(await seqs(store, 'r1'), [1, 2])
  },
  'a batch that fails keeps nothing of any run in it': async (store) => {
    await create(store, 'r1')
    await create(store, 'r2')
    const command = await store.post({ root: 'r1', run: 'r1', body: '{}' })
    const good = { run: 'r1', epoch: 1, rows: [step(2)], head: head('r1', { status: 'waiting' }) }
    const settling = { ...good, settle: [{ command, result: 'done' }] }
    const made = { run: 'r3', epoch: 1, rows: [created('r3')], head: head('r3'), create: { host: 'h1' } }
    await rejects(async () => store.append([settling, made, { run: 'r2', epoch: 1, rows: [step(9)] }], 'process'))
    deepStrictEqual(await seqs(store, 'r1'), [1])
    strictEqual((await store.find('r1'))?.head.status, 'running')
    strictEqual(await store.find('r3'), undefined)
    strictEqual(await store.result(command), undefined)
    deepStrictEqual(await store.append([settling, made], 'power'), ['ok', 'ok'])
    strictEqual(await store.result(command), 'done')
  },
  'what is appended to a run that is not there reaches no other one': async (store) => {
    await create(store, 'r0')
    const made = { run: 'r1', epoch: 1, rows: [created('r1')], head: head('r1'), create: { host: 'h1' } }
    await rejects(async () => store.append([made, { run: 'r0', epoch: 1, rows: [step(9)] }], 'process'))
    await create(store, 'r2')
    strictEqual(await append(store, 'r1', [step(2)]), 'fenced')
    await store.remove(['r2'])
    await create(store, 'r3')
    strictEqual(await append(store, 'r2', [step(2)]), 'fenced')
    deepStrictEqual(await seqs(store, 'r3'), [1])
  },
  'creating a run that exists is refused and changes nothing': async (store) => {
    await create(store, 'r1')
    await append(store, 'r1', [step(2)])
    await rejects(create(store, 'r1', { host: 'h2', definition: 'other' }))
    deepStrictEqual(await seqs(store, 'r1'), [1, 2])
    const found = await store.find('r1')
    strictEqual(found?.head.definition, 'demo')
    strictEqual(found.owner?.host, 'h1')
  },
  'large values are kept beside the row, and come back with it': async (store) => {
    await create(store, 'r1')
    const output = { text: 'ä'.repeat(INLINE_LIMIT), list: [1, 2, 3] }
    const row = encodeEvent({ ...completed(), output }, 2, 5)
    ok(row.blob !== undefined && row.blobText !== undefined)
    await append(store, 'r1', [row, encodeEvent({ ...completed(), output }, 3, 6), step(4)])
    const read = await store.read('r1', 1, 10)
    strictEqual(read.length, 3)
    for (const one of read.slice(0, 2)) deepStrictEqual((decodeEvent(one) as { output?: unknown }).output, output)
    strictEqual(read[0]?.blob, read[1]?.blob)
    strictEqual(read[2]?.blob, undefined)
  },
  'a value of megabytes survives': async (store) => {
    await create(store, 'r1')
    const output = 'x'.repeat(3_000_000)
    await append(store, 'r1', [encodeEvent({ ...completed(), output }, 2, 5)])
    const [row] = await store.read('r1', 1, 1)
    strictEqual((decodeEvent(row as Row) as { output?: unknown }).output, output)
  },
  'text of any kind survives': async (store) => {
    await create(store, 'r1', { definition: 'Ünï "quoted" \\ 🧠' })
    for (const [index, output] of STRANGE_TEXTS.entries()) {
      await append(store, 'r1', [encodeEvent({ ...completed(), output }, index + 2, 5)])
    }
    const outputs = (await store.read('r1', 1, 100)).map((row) => (decodeEvent(row) as { output?: unknown }).output)
    deepStrictEqual(outputs, STRANGE_TEXTS)
    strictEqual((await store.heads({ definition: 'Ünï "quoted" \\ 🧠' })).length, 1)
  },
  'removing runs leaves nothing of them, and everything of the others': async (store) => {
    const output = 'shared'.repeat(INLINE_LIMIT)
    for (const run of ['r1', 'r2', 'r3']) {
      await create(store, run)
      await append(store, run, [encodeEvent({ ...completed(), output }, 2, 5)])
    }
    const command = await store.post({ root: 'r1', run: 'r1', body: '{}' })
    await store.remove(['r1', 'r3', 'nobody'])
    strictEqual(await store.find('r1'), undefined)
    deepStrictEqual(await store.read('r1', 0, 10), [])
    strictEqual(await store.result(command), undefined)
    deepStrictEqual(await store.commands('h1'), [])
    const [, row] = await store.read('r2', 0, 10)
    strictEqual((decodeEvent(row as Row) as { output?: unknown }).output, output)
    await create(store, 'r1', { host: 'h2' })
    deepStrictEqual(await seqs(store, 'r1'), [1])
  },
}

const OWNERS: Readonly<Record<string, Check>> = {
  'another epoch is fenced and writes nothing, beside others that write': async (store) => {
    await create(store, 'r1')
    await create(store, 'r2')
    const epoch = await store.claim('r1', 'h2', () => true)
    strictEqual(epoch, 2)
    strictEqual(await append(store, 'r1', [step(2)]), 'fenced')
    const command = await store.post({ root: 'r1', run: 'r1', body: '{}' })
    const late: Append = {
      run: 'r1',
      epoch: 1,
      rows: [step(2)],
      head: head('r1', { status: 'failed' }),
      settle: [{ command, result: 'no' }],
    }
    deepStrictEqual(await store.append([late, { run: 'r2', epoch: 1, rows: [step(2)] }], 'process'), ['fenced', 'ok'])
    deepStrictEqual(await store.append([{ ...late, rows: [] }], 'process'), ['fenced'])
    deepStrictEqual(await seqs(store, 'r1'), [1])
    deepStrictEqual(await seqs(store, 'r2'), [1, 2])
    strictEqual((await store.find('r1'))?.head.status, 'running')
    strictEqual(await store.result(command), undefined)
    strictEqual(await append(store, 'r1', [step(2)], { epoch: 2 }), 'ok')
    strictEqual(await append(store, 'r1', [step(3)], { epoch: 3 }), 'fenced')
  },
  'a claim asks about the present owner and takes the whole tree': async (store) => {
    await create(store, 'r1')
    await create(store, 'r1-child', { root: 'r1', parent: 'r1' })
    await create(store, 'other')
    const asked: (string | undefined)[] = []
    const refusing = (owner: string | undefined): boolean => {
      asked.push(owner)
      return false
    }
    strictEqual(await store.claim('r1', 'h2', refusing), undefined)
    deepStrictEqual(asked, ['h1'])
    deepStrictEqual(await owner(store, 'r1'), { host: 'h1', epoch: 1 })
    strictEqual(await store.claim('r1', 'h2', () => true), 2)
    for (const run of ['r1', 'r1-child']) deepStrictEqual(await owner(store, run), { host: 'h2', epoch: 2 })
    deepStrictEqual(await owner(store, 'other'), { host: 'h1', epoch: 1 })
    strictEqual(await append(store, 'r1-child', [step(2)]), 'fenced')
    strictEqual(await store.claim('nobody', 'h2', () => true), undefined)
  },
  'a release lets go of what a host owns, and of nothing else': async (store) => {
    await create(store, 'r1')
    await create(store, 'r1-child', { root: 'r1', parent: 'r1' })
    await store.release('r1', 'h2')
    deepStrictEqual(await owner(store, 'r1'), { host: 'h1', epoch: 1 })
    await store.release('r1', 'h1')
    for (const run of ['r1', 'r1-child']) strictEqual(await owner(store, run), undefined)
    const free = (present: string | undefined): boolean => present === undefined
    strictEqual(await store.claim('r1', 'h2', free), 2)
    strictEqual(await store.claim('r1', 'h3', free), undefined)
  },
  'hosts leave signs of life and are forgotten': async (store) => {
    const one = { host: 'h1', pid: 7, machine: 'm', birth: 'b', beat: 1 }
    await store.beat(one)
    await store.beat({ ...one, host: 'h2' })
    await store.beat({ ...one, beat: 2 })
    const hosts = (await store.hosts()).map((record) => ({ ...record })).toSorted((a, b) => (a.host < b.host ? -1 : 1))
    deepStrictEqual(hosts, [
      { ...one, beat: 2 },
      { ...one, host: 'h2' },
    ])
    await store.forgetHost('h1')
    deepStrictEqual(
      (await store.hosts()).map((record) => record.host),
      ['h2'],
    )
  },
}

const LISTS: Readonly<Record<string, Check>> = {
  'heads are what was last written, newest run first': async (store) => {
    for (const run of ['r1', 'r2', 'r3']) await create(store, run)
    await append(store, 'r2', [], { head: head('r2', { status: 'waiting', wake: 50 }) })
    deepStrictEqual(ids(await store.heads({})), ['r3', 'r2', 'r1'])
    deepStrictEqual((await store.find('r2'))?.head, head('r2', { status: 'waiting', wake: 50 }))
    deepStrictEqual(ids(await store.heads({ limit: 2 })), ['r3', 'r2'])
    deepStrictEqual(ids(await store.heads({ limit: 0 })), [])
  },
  'heads are filtered by each field and by all together': async (store) => {
    await create(store, 'r1', { status: 'completed', updated: 10 })
    await create(store, 'r2', { status: 'waiting', updated: 20, questions: [question('r2')] })
    await create(store, 'r3', { root: 'r2', parent: 'r2', definition: 'other', updated: 30 })
    await store.release('r1', 'h1')
    deepStrictEqual(ids(await store.heads({ root: 'r2' })), ['r3', 'r2'])
    deepStrictEqual(ids(await store.heads({ status: ['completed', 'waiting'] })), ['r2', 'r1'])
    deepStrictEqual(ids(await store.heads({ status: [] })), [])
    deepStrictEqual(ids(await store.heads({ definition: 'other' })), ['r3'])
    deepStrictEqual(ids(await store.heads({ roots: true, limit: 1 })), ['r2'])
    deepStrictEqual(ids(await store.heads({ asking: true })), ['r2'])
    deepStrictEqual(ids(await store.heads({ updatedBefore: 20 })), ['r1'])
    await append(store, 'r3', [{ ...step(2), time: 25 }])
    await append(store, 'r2', [
      { ...step(2), time: 30 },
      { ...step(3), time: 25 },
    ])
    deepStrictEqual(ids(await store.heads({ movedSince: 25 })), ['r3', 'r2'])
    deepStrictEqual(ids(await store.heads({ movedSince: 26 })), [])
    deepStrictEqual(ids(await store.heads({ movedSince: 0, roots: true })), ['r2', 'r1'])
    deepStrictEqual(ids(await store.heads({ owned: true })), ['r3', 'r2'])
    deepStrictEqual(ids(await store.heads({ owned: true, definition: 'demo', status: ['waiting'], limit: 5 })), ['r2'])
  },
  'due runs come by their time, without those whose root rests': async (store) => {
    await create(store, 'r1', { wake: 300 })
    await create(store, 'r2', { wake: 100 })
    await create(store, 'r3', { wake: 200 })
    await create(store, 'r4', { wake: 50, status: 'paused' })
    await create(store, 'r5', { wake: 60, root: 'r4', parent: 'r4' })
    await create(store, 'r6', { wake: 70, status: 'exhausted' })
    await create(store, 'r7')
    deepStrictEqual(ids(await store.heads({ dueBy: 250 })), ['r2', 'r3'])
    deepStrictEqual(ids(await store.heads({ dueBy: 300, limit: 1 })), ['r2'])
    deepStrictEqual(ids(await store.heads({ dueBy: 99 })), [])
  },
  'the next wake is that of an unowned run whose root does not rest': async (store) => {
    strictEqual(await store.nextWake(), undefined)
    for (const [run, wake] of [['r1', 300] as const, ['r2', 100] as const]) await create(store, run, { wake })
    await create(store, 'r3', { wake: 50, status: 'paused' })
    await create(store, 'r4', { wake: 60, root: 'r3', parent: 'r3' })
    strictEqual(await store.nextWake(), undefined)
    for (const run of ['r1', 'r3']) await store.release(run, 'h1')
    strictEqual(await store.nextWake(), 300)
    await store.release('r2', 'h1')
    strictEqual(await store.nextWake(), 100)
    await append(store, 'r2', [], { head: head('r2') })
    strictEqual(await store.nextWake(), 300)
    await append(store, 'r3', [], { head: head('r3', { wake: 50 }) })
    strictEqual(await store.nextWake(), 50)
  },
  'a run is found by its id, or by a beginning that only it has': async (store) => {
    for (const run of ['abc', 'abcd', 'abxy', 'b%_']) await create(store, run)
    strictEqual((await store.find('abc'))?.head.run, 'abc')
    strictEqual((await store.find('abcd'))?.head.run, 'abcd')
    strictEqual((await store.find('abx'))?.head.run, 'abxy')
    strictEqual((await store.find('b'))?.head.run, 'b%_')
    for (const unclear of ['ab', 'a', 'bc', '%', '_', 'abcde', 'B']) strictEqual(await store.find(unclear), undefined)
  },
}
