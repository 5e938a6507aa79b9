/** Live parts that a reader does not get are told of, on every way to a host: how many, or at least that some are missing. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineNode, workflow } from 'nerve'
import type { Client, EventItem } from 'nerve/client'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'
import { WAYS } from './ways.ts'

/** More than any feed keeps for a reader, and all at once: nobody can read in between. */
const PARTS = 3_000
const KEPT = 1_024

/** Waits until somebody listens, and then says more than they can hear. */
const noisy = workflow('noisy', async (ctx) => {
  await ctx.waitFor('go', { label: 'go' })
  await ctx.step('talk', (call) => {
    for (let i = 0; i < PARTS; i += 1) call.emit('noise', i)
  })
})

const dir = mkdtempSync(join(tmpdir(), 'nerve-gaps-'))
let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest({}, { dir })
})
afterAll(async () => {
  await under.end()
  rmSync(dir, { recursive: true, force: true })
})

type Part = EventItem & { readonly dropped?: number }

function count(parts: readonly Part[]): object {
  const gaps = parts.filter(({ type }) => type === 'gap')
  const kept = parts.filter(({ type }) => type === 'noise').length
  const dropped = gaps.reduce((sum, gap) => sum + (gap.dropped ?? 0), 0)
  return { kept, dropped, gaps: gaps.length }
}

/** Reads until something comes; `then` is done as soon as the feed is open. */
async function readUntil(
  items: (onCursor: () => void) => AsyncIterable<EventItem>,
  then: () => unknown,
  isLast: (item: Part) => boolean,
): Promise<Part[]> {
  const open = Promise.withResolvers<void>()
  const found: Part[] = []
  const reading = (async () => {
    for await (const item of items(open.resolve)) {
      found.push(item)
      if (isLast(item)) return
    }
  })()
  await open.promise
  await then()
  await reading
  return found
}

describe.each(Object.entries(WAYS))('over %s', (way, { open }) => {
  let client: Client
  beforeAll(async () => {
    client = await open(under)
  })
  afterAll(() => client.close())

  it('of all runs', async () => {
    const burst = (): void => {
      for (let i = 0; i < PARTS; i += 1) under.host.emit('talk', 'noise', i)
    }
    for (const wanted of [{}, { type: 'noise', path: 'talk' }]) {
      const items = (onCursor: () => void) => client.events({ ...wanted, live: true, onCursor })
      const found = await readUntil(items, burst, ({ type }) => type === 'gap')
      expect(count(found)).toEqual({ kept: KEPT, dropped: PARTS - KEPT, gaps: 1 })
      expect(found.at(-1)).toEqual({ live: true, type: 'gap', run: '', dropped: PARTS - KEPT })
    }
  })

  it('of one run', async () => {
    const { id } = await under.host.start(noisy)
    const run = client.run(id)
    await run.wait({ until: 'rest' })
    const items = (onCursor: () => void) => run.events({ live: true, onCursor })
    const found = await readUntil(
      items,
      () => run.signal('go'),
      ({ type }) => type === 'run-completed',
    )
    const { kept, dropped } = count(found) as { kept: number; dropped: number }
    expect(dropped).toBeGreaterThan(0)
    expect(kept + dropped).toBe(PARTS)
    const durable = found.flatMap((item) => ('seq' in item ? [item.seq] : []))
    expect(durable).toEqual((await under.host.journal(id)).map(({ seq }) => seq))
  })

  it('of a terminal that is watched', async () => {
    const opened = Promise.withResolvers<(part: object) => void>()
    const node = `printer-${way.replaceAll(' ', '-')}`
    const printer = Object.assign(
      defineNode(node, () => undefined, { persistent: true }),
      { watch: (listener: (part: object) => void) => (opened.resolve(listener), () => undefined) },
    )
    await under.sessions.create({ name: `of-${node}`, nodes: [printer] })
    const found: Part[] = []
    const reading = (async () => {
      for await (const part of client.node(node).watch()) found.push(part)
    })()
    const print = await opened.promise
    for (let i = 0; i < PARTS; i += 1) print({ type: 'noise', text: String(i) })
    print({ type: 'state', state: 'stopped' })
    await reading
    // What it said last did not fit either.
    expect(count(found)).toEqual({ kept: KEPT, dropped: PARTS + 1 - KEPT, gaps: 1 })
    expect(found.at(-1)).toEqual({ live: true, type: 'gap', run: '', dropped: PARTS + 1 - KEPT })
  })

  it('what was live while a reader was away', async () => {
    const { id } = await under.host.start(noisy)
    await client.run(id).wait({ until: 'rest' })
    const first = async (wanted: object): Promise<unknown> => {
      for await (const item of client.events({ once: true, live: true, ...wanted })) return item
      return undefined
    }
    const gap = { live: true, type: 'gap', run: id, path: '' }
    expect(await first({ run: id, after: '1' })).toEqual(gap)
    expect(await first({ run: id, after: '1', type: 'no-such-*' })).toEqual(gap)
    expect(await first({ run: id, after: '0' })).toMatchObject({ type: 'run-created' })
    expect(await first({ run: id, after: '1', live: false })).not.toMatchObject({ type: 'gap' })
    const here = await placeOf(client)
    expect(await first({ after: here })).toEqual({ ...gap, run: '' })
    expect(await first({ after: here, live: false })).toBeUndefined()
    await client.run(id).cancel()
  })
})

/** Where the feed of all runs is now. */
async function placeOf(client: Client): Promise<string> {
  let here = ''
  for await (const _ of client.events({ after: '0', once: true, onCursor: (cursor) => (here = cursor) }));
  return here
}
