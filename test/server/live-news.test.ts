/** What is told of things that are in no journal: nodes that come, change and go, and a host that ends. On every way to it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect, type Client, type EventItem } from 'nerve/client'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'
import { WAYS } from './ways.ts'

const dir = mkdtempSync(join(tmpdir(), 'nerve-live-news-'))
let under: UnderTest
let near: Client
beforeAll(async () => {
  under = await hostUnderTest({}, { dir })
  near = await connect(under.socket)
})
afterAll(async () => {
  await near.close()
  await under.end()
  rmSync(dir, { recursive: true, force: true })
})

/** Reads from now on, up to something. */
async function until(client: Client, wanted: object, last: (item: EventItem) => boolean) {
  const began = Promise.withResolvers<void>()
  const found: EventItem[] = []
  const reading = (async () => {
    for await (const item of client.events({ ...wanted, onCursor: () => began.resolve() })) {
      found.push(item)
      if (last(item)) break
    }
    return found
  })()
  await began.promise
  return { found: () => reading }
}

function isRemoved(node: string) {
  return ({ type, path }: EventItem & { path?: string }): boolean =>
    type === 'node-removed' && path?.endsWith(`/${node}`) === true
}

describe.each(Object.entries(WAYS))('over %s', (way, { open }) => {
  const session = `s-${way.replaceAll(' ', '-')}`
  const [one, two] = [`${session}-one`, `${session}-two`]
  const path = (node: string): string => `session/${session}/node/${node}`
  let client: Client
  beforeAll(async () => {
    client = await open(under)
  })
  afterAll(() => client.close())

  it('nodes that are created, copied, started and removed', async () => {
    const live = await until(client, { live: true, path: `session/${session}/**` }, isRemoved(one))
    // Made and removed by a neighbour, who may; heard of by everybody.
    await near.call('nodes.create', { session, config: { kind: 'bash', id: one, command: 'true' } })
    await client.node(one).fork(two)
    await client.node(two).start()
    await near.call('nodes.remove', { node: two })
    await near.call('nodes.remove', { node: one })
    const found = (await live.found()) as { type: string; path: string; data: { to?: string } }[]
    expect(found.filter(({ type }) => type !== 'node-state')).toEqual([
      { live: true, type: 'node-created', run: '', path: path(one), data: { node: one } },
      { live: true, type: 'node-created', run: '', path: path(two), data: { node: two, forkedFrom: one } },
      { live: true, type: 'node-removed', run: '', path: path(two), data: { node: two } },
      { live: true, type: 'node-removed', run: '', path: path(one), data: { node: one } },
    ])
    const states = found.filter((item) => item.type === 'node-state' && item.path === path(two))
    expect(states.map(({ data }) => data.to)).toEqual(['starting', 'ready', 'stopping', 'stopped'])
  })

  it('a host that is asked to end, and by whom', async () => {
    const live = await until(client, { live: true, type: 'host-stopping' }, () => true)
    await client.call('shutdown', {})
    expect(await live.found()).toEqual([
      {
        live: true,
        type: 'host-stopping',
        run: '',
        path: '',
        data: expect.objectContaining({ via: expect.any(String) }),
      },
    ])
  })
})
