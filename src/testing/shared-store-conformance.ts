/** What hosts that share a store rely on: commands to each other, and a second connection. Part of the store suite. */
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert'
import type { JournalStore } from '../journal/port.ts'
import type { Check } from './store-conformance.ts'
import { append, commandIds, create, head, seqs, step } from './store-fixtures.ts'

export const COMMANDS: Readonly<Record<string, Check>> = {
  'commands go to the owner of the tree, oldest first, until settled': async (store) => {
    await create(store, 'r1')
    await create(store, 'r1-child', { root: 'r1', parent: 'r1' })
    await create(store, 'r2', { host: 'h2' })
    const first = await store.post({ root: 'r1', run: 'r1-child', body: '{"verb":"pause","text":"ü🧠"}' })
    const second = await store.post({ root: 'r1', run: 'r1', body: '{}' })
    const other = await store.post({ root: 'r2', run: 'r2', body: '{}' })
    const open = (await store.commands('h1')).map((command) => ({ ...command }))
    deepStrictEqual(open, [
      { id: first, root: 'r1', run: 'r1-child', body: '{"verb":"pause","text":"ü🧠"}' },
      { id: second, root: 'r1', run: 'r1', body: '{}' },
    ])
    await store.settle(first, '{"error":1}')
    strictEqual(await store.result(first), '{"error":1}')
    strictEqual(await store.result(second), undefined)
    deepStrictEqual(commandIds(await store.commands('h1')), [second])
    deepStrictEqual(commandIds(await store.commands('h2')), [other])
    deepStrictEqual(commandIds(await store.commands(undefined)), [])
  },
  'commands to trees that nobody owns are listed without a host': async (store) => {
    await create(store, 'r1')
    const id = await store.post({ root: 'r1', run: 'r1', body: '{}' })
    await store.post({ root: 'nobody', run: 'nobody', body: '{}' })
    deepStrictEqual(commandIds(await store.commands(undefined)), [])
    await store.release('r1', 'h1')
    deepStrictEqual(commandIds(await store.commands(undefined)), [id])
    deepStrictEqual(commandIds(await store.commands('h1')), [])
    await store.claim('r1', 'h2', () => true)
    deepStrictEqual(commandIds(await store.commands('h2')), [id])
  },
  'commands are settled in the commit that answers them': async (store) => {
    await create(store, 'r1')
    const command = await store.post({ root: 'r1', run: 'r1', body: '{}' })
    strictEqual(await append(store, 'r1', [step(2)], { settle: [{ command, result: 'done' }] }), 'ok')
    strictEqual(await store.result(command), 'done')
    deepStrictEqual(await store.commands('h1'), [])
  },
  'a command is taken back unless it is settled or another host may be at it': async (store) => {
    await create(store, 'r1')
    const [first, second] = [
      await store.post({ root: 'r1', run: 'r1', body: '{}' }),
      await store.post({ root: 'r1', run: 'r1', body: '{}' }),
    ]
    strictEqual(await store.withdraw(first, 'h2'), false)
    strictEqual(await store.withdraw(first, undefined), false)
    strictEqual(await store.withdraw(first, 'h1'), true)
    strictEqual(await store.withdraw(first, 'h1'), false)
    deepStrictEqual(commandIds(await store.commands('h1')), [second])
    await store.release('r1', 'h1')
    strictEqual(await store.withdraw(second, 'h1'), false)
    strictEqual(await store.withdraw(second, undefined), true)
    strictEqual(await store.withdraw(99, undefined), false)
    deepStrictEqual(await store.commands(undefined), [])
  },
  'a command makes the version differ for whoever looks': async (store, under) => {
    await create(store, 'r1')
    const other = (await under.reopen?.(store)) ?? store
    try {
      const before = store.version()
      await other.post({ root: 'r1', run: 'r1', body: '{}' })
      ok(store.version() !== before)
    } finally {
      if (other !== store) await other.close()
    }
  },
}

/** Two connections to one store. */
export const TWICE: Readonly<Record<string, Check>> = {
  'what one connection commits, the other reads': twice(async (one, two) => {
    await create(one, 'r1')
    strictEqual(await append(two, 'r1', [step(2)]), 'ok')
    strictEqual(await append(one, 'r1', [step(3)]), 'ok')
    deepStrictEqual(await seqs(two, 'r1'), [1, 2, 3])
    await rejects(append(two, 'r1', [step(3)]))
  }),
  'the version changes when the other connection writes, and only then': twice(async (one, two) => {
    await create(one, 'r1')
    const before = one.version()
    await append(one, 'r1', [step(2)])
    strictEqual(one.version(), before)
    await append(two, 'r1', [step(3)])
    ok(one.version() !== before)
  }),
  'a claim through one connection fences the other': twice(async (one, two) => {
    await create(one, 'r1')
    strictEqual(await two.claim('r1', 'h2', () => true), 2)
    strictEqual(await append(one, 'r1', [step(2)]), 'fenced')
    strictEqual(await append(two, 'r1', [step(2)], { epoch: 2 }), 'ok')
  }),
  'of two claims of a free run one wins': twice(async (one, two) => {
    await create(one, 'r1')
    await one.release('r1', 'h1')
    const free = (present: string | undefined): boolean => present === undefined
    const epochs = await Promise.all([one.claim('r1', 'h2', free), two.claim('r1', 'h3', free)])
    deepStrictEqual(epochs.filter((epoch) => epoch !== undefined).length, 1)
  }),
  'what is appended to a run that the other connection removed reaches no later run': twice(async (one, two) => {
    await create(one, 'r1')
    strictEqual(await append(one, 'r1', [step(2)]), 'ok')
    await two.remove(['r1'])
    await create(two, 'r2')
    const command = await two.post({ root: 'r2', run: 'r2', body: '{}' })
    const settle = [{ command, result: 'no' }]
    strictEqual(await append(one, 'r1', [step(3)], { head: head('r1', { status: 'failed' }), settle }), 'fenced')
    strictEqual(await append(one, 'r1', [], { head: head('r1', { status: 'failed' }), settle }), 'fenced')
    strictEqual(await append(one, 'r1', [step(2)]), 'fenced')
    deepStrictEqual(await seqs(two, 'r2'), [1])
    strictEqual((await two.find('r2'))?.head.status, 'running')
    strictEqual(await two.result(command), undefined)
    strictEqual(await append(one, 'r2', [step(2)]), 'ok')
  }),
  'a run that was removed and came back is another one until it is claimed': twice(async (one, two) => {
    await create(one, 'r1')
    strictEqual(await append(one, 'r1', [step(2)]), 'ok')
    await two.remove(['r1'])
    await create(two, 'r1', { host: 'h2' })
    for (const seq of [2, 3]) strictEqual(await append(one, 'r1', [step(seq)]), 'fenced')
    strictEqual(await append(one, 'r1', [], { head: head('r1', { status: 'failed' }) }), 'fenced')
    deepStrictEqual(await seqs(two, 'r1'), [1])
    strictEqual((await two.find('r1'))?.head.status, 'running')
    strictEqual(await one.claim('r1', 'h1', () => true), 2)
    strictEqual(await append(one, 'r1', [step(2)], { epoch: 2 }), 'ok')
    deepStrictEqual(await seqs(two, 'r1'), [1, 2])
  }),
  'everything is there when it is opened again': twice(async (one, two) => {
    await create(one, 'r1', { wake: 9 })
    deepStrictEqual((await two.find('r1'))?.head, head('r1', { wake: 9 }))
    strictEqual(await two.nextWake(), undefined)
    await one.release('r1', 'h1')
    strictEqual(await two.nextWake(), 9)
  }),
}

function twice(check: (one: JournalStore, two: JournalStore) => Promise<void>): Check {
  return async (store, under) => {
    if (under.reopen === undefined) return
    const other = await under.reopen(store)
    try {
      await check(store, other)
    } finally {
      await other.close()
    }
  }
}
