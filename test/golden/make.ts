/**
 * Makes golden journals that are not there yet: node --conditions=nerve-source test/golden/make.ts
 * One that is there is never made again: it is what that version of Nerve wrote.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createHost, workflow, type Handle, type Host } from 'nerve'
import { SimulatedClock } from 'nerve/testing'
import { RecordingStore } from '../properties/recording-store.ts'
import * as golden from './definitions.ts'

interface Stage {
  readonly host: Host
  readonly clock: SimulatedClock
  readonly store: RecordingStore
}

type Scene = (stage: Stage) => Promise<{ readonly host: Host; readonly run: string }>

const HOUR = 3_600_000

const SCENES: Readonly<Record<string, Scene>> = {
  sequence: ({ host }) => ended(host, host.start(golden.sequence, { name: 'Ada' })),
  parallel: async ({ host, clock }) => {
    const run = await host.start(golden.parallel)
    await quiet()
    clock.advance(60_000)
    return ended(host, run)
  },
  trouble: async ({ host, clock }) => {
    const run = await host.start(golden.trouble)
    for (let i = 0; i < 4; i += 1) {
      await quiet()
      clock.advance(HOUR)
    }
    return ended(host, run)
  },
  talk: async ({ host, clock }) => {
    const run = await host.start(golden.talk)
    await run.rest()
    await answer(host, 'Second?', '2')
    await answer(host, 'First?', 'one')
    await answer(host, 'Go on?', 'approve')
    for (let i = 0; i < 2; i += 1) {
      await quiet()
      clock.advance(HOUR)
    }
    await quiet()
    await run.signal('go', { n: 1 }, { by: 'ada', via: 'test' })
    await run.signal('message', 'hello')
    await quiet()
    clock.advance(HOUR)
    return ended(host, run)
  },
  careful: async ({ host, clock }) => {
    const run = await host.start(golden.careful)
    await quiet()
    clock.advance(HOUR)
    await quiet()
    await answer(host, 'May I?', 'yes')
    return ended(host, run)
  },
  spender: async ({ host }) => {
    const run = await host.start(golden.spender)
    await run.result().catch(() => undefined)
    await run.resume({ budget: { tokens: 500 }, by: 'ada' })
    return ended(host, run)
  },
  family: ({ host }) => ended(host, host.start(golden.family, 4)),
  steered: async ({ host, clock }) => {
    const run = await host.start(golden.steered)
    await run.rest()
    await run.pause({ by: 'ada' })
    await run.signal('go')
    await run.resume({ by: 'ada' })
    await quiet()
    await run.interrupt({ path: 'work' })
    await quiet()
    clock.advance(1)
    return ended(host, run)
  },
  stopped: async ({ host }) => {
    const run = await host.start(golden.stopped)
    await quiet()
    await run.cancel({ by: 'ada', reason: 'enough' })
    return ended(host, run)
  },
  failing: ({ host }) => ended(host, host.start(golden.failing)),
  edited: async ({ store, host }) => {
    const old = workflow('golden-edited', async (ctx) => {
      const kept = await ctx.step('kept', () => 'kept')
      await ctx.step('old', () => 'old')
      await ctx.waitFor('go')
      return [kept]
    })
    const started = await host.start(old)
    await started.rest()
    const next = await openOver(await store.crashedAfter(store.commits.length))
    const run = await next.handle(started.id)
    await run.result().catch(() => undefined)
    await run.resume({ accept: true, by: 'ada' })
    await run.signal('go')
    return ended(next, run)
  },
  recovered: async ({ store, host }) => {
    const started = await host.start(golden.sequence, { name: 'Grace' })
    await started.result()
    const half = await openOver(await store.crashedAfter(Math.ceil(store.commits.length / 2)))
    return ended(half, await half.handle(started.id))
  },
  waiting: async ({ host }) => {
    const run = await host.start(golden.waiting, 'Ada')
    await run.rest()
    return { host, run: run.id }
  },
}

function openOver(store: RecordingStore, clock = new SimulatedClock()): Promise<Host> {
  return createHost({ store, clock, definitions: golden.definitions })
}

async function ended(host: Host, run: Handle | Promise<Handle>): Promise<{ host: Host; run: string }> {
  const handle = await run
  await handle.result().catch(() => undefined)
  return { host, run: handle.id }
}

async function answer(host: Host, prompt: string, value: unknown): Promise<void> {
  await quiet()
  const question = (await host.inbox()).find((one) => one.prompt === prompt)
  await host.answer(question?.id ?? prompt, value, { by: 'ada' })
}

async function quiet(): Promise<void> {
  for (let i = 0; i < 40; i += 1) await turn()
}

const folder = new URL('journals/', import.meta.url)
const project = fileURLToPath(new URL('../../', import.meta.url))
mkdirSync(folder, { recursive: true })
for (const [name, scene] of Object.entries(SCENES)) {
  const file = new URL(`${name}.jsonl`, folder)
  if (existsSync(file)) continue
  const [store, clock] = [new RecordingStore(), new SimulatedClock()]
  const { host, run } = await scene({ host: await openOver(store, clock), clock, store })
  // Stacks name the folder of whoever made the journal, which is nobody's business.
  writeFileSync(file, (await host.export(run)).replaceAll(project, '/project/'))
  console.log(`${name}: ${(await host.run(run)).status}`)
}
process.exit(0)
