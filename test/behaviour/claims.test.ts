/** What a host claims it drives, or gives back: a refused command leaves nothing behind. */
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import type { Row } from '../../src/journal/codec.ts'
import { openStage, rejection, until } from './stage.ts'

const asks = workflow('asks', (ctx) => ctx.ask('Well?', { choices: ['yes', 'no'] }))

/** Cannot be read when the test says so. */
class UnreadableStore extends MemoryStore {
  broken = false

  override async read(run: string, after: number, limit: number): Promise<readonly Row[]> {
    if (this.broken) throw new Error('the disk cannot be read')
    return super.read(run, after, limit)
  }
}

async function pausedRun(store: MemoryStore): Promise<string> {
  const { host } = await openStage({ store })
  const run = await host.start(asks)
  await run.rest()
  await run.pause()
  await host.close()
  return run.id
}

describe('the claim of a run that nobody drives', () => {
  it('is given back when a resume is refused', async () => {
    const store = new MemoryStore()
    const id = await pausedRun(store)
    const { host } = await openStage({ store, definitions: [asks] })
    const run = await host.handle(id)
    expect((await rejection(run.resume({ budget: { usd: -1 } }))).code).toBe('bad-option')
    expect((await store.find(id))?.owner).toBeUndefined()
    const other = await openStage({ store, recover: false })
    await (await other.host.handle(id)).cancel()
    expect((await host.run(id)).status).toBe('cancelled')
  })

  it.each(['signal', 'pause', 'cancel'] as const)('is given back when %s cannot read it', async (verb) => {
    const store = new UnreadableStore()
    const id = await pausedRun(store)
    const { host } = await openStage({ store, definitions: [asks], recover: false })
    const run = await host.handle(id)
    store.broken = true
    const command = verb === 'signal' ? run.signal('go') : run[verb]()
    expect((await rejection(command)).message).toContain('cannot be read')
    expect((await store.find(id))?.owner).toBeUndefined()
  })
})

describe('runs that wait', () => {
  it.each(['refused', 'done'])('stay in memory up to a number, also after commands that were %s', async (how) => {
    const store = new MemoryStore()
    const { host } = await openStage({ store, maxResident: 2 })
    for (let i = 0; i < 6; i += 1) {
      const run = await host.start(asks)
      await run.rest()
      const question = (await host.run(run.id)).questions[0]?.id ?? ''
      if (how === 'refused') expect((await rejection(host.answer(question, 'perhaps'))).code).toBe('answer-rejected')
      else await run.signal('unheard', i)
    }
    await until(async () => (await store.heads({ owned: true })).length <= 2, 'that the others are parked')
    expect(await store.heads({ owned: true })).toHaveLength(2)
  })
})
