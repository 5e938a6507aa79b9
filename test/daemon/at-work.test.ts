/** What keeps a daemon: a step that a held run still finishes does, a held run that rests does not. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, workflow } from 'nerve'
import { connect } from 'nerve/client'
import { expect, onTestFinished, test } from 'vitest'
import { finishesSteps, goesOn } from '../../src/surfaces/daemon/at-work.ts'
import { startDaemon } from '../../src/surfaces/daemon/daemon.ts'
import { RecordingStore } from '../properties/recording-store.ts'

const all = (): boolean => true

test('a run that is held goes no further, but finishes the step that runs, also in a child', async () => {
  const host = await createHost({ store: 'memory' })
  onTestFinished(() => host.close())
  const [begun, may] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const child = workflow('child', async (ctx) => {
    await ctx.step('hold', () => {
      begun.resolve()
      return may.promise
    })
    await ctx.step('next', () => 1)
  })
  const run = await host.start(workflow('parent', (ctx) => ctx.child(child, undefined)))
  await begun.promise
  const look = async () => ({ goesOn: await goesOn(host, all), finishes: await finishesSteps(host, all) })
  expect(await look()).toEqual({ goesOn: true, finishes: false })
  // A step is in the journal a moment after its function has begun.
  const rows = await host.runs({ children: true })
  const id = rows.find(({ parent }) => parent === run.id)?.run ?? ''
  await expect.poll(async () => (await host.journal(id)).map(({ event }) => event.type)).toContain('step-started')
  await run.pause()
  expect(await look()).toEqual({ goesOn: false, finishes: true })
  may.resolve()
  await expect.poll(look).toEqual({ goesOn: false, finishes: false })
  await run.resume()
  await run.result()
})

test('a step of a held run that went with its process, or waits for a person, is finished by nobody', async () => {
  const store = new RecordingStore()
  const before = await createHost({ store })
  onTestFinished(() => before.close())
  const begun = Promise.withResolvers<void>()
  const works = workflow('works', (ctx) => ctx.step('work', () => (begun.resolve(), new Promise(() => undefined))))
  const asks = workflow('asks', (ctx) => ctx.step('ask', (call) => call.ask('Well?')))
  const [run, other] = [await before.start(works), await before.start(asks)]
  await begun.promise
  await expect.poll(async () => (await before.inbox()).length).toBe(1)
  await Promise.all([run.pause(), other.pause()])
  expect(await finishesSteps(before, ({ run: one }) => one === run.id)).toBe(true)
  expect(await finishesSteps(before, ({ run: one }) => one === other.id)).toBe(false)
  const left = await store.crashedAfter(store.commits.length)
  const host = await createHost({ store: left, definitions: [works, asks] })
  onTestFinished(() => host.close())
  // It is in memory from here on, and held.
  await (await host.handle(run.id)).signal('any')
  expect(await host.run(run.id)).toMatchObject({ status: 'paused', owner: host.id })
  expect(await finishesSteps(host, all)).toBe(false)
})

test('a daemon that nobody else needs stays until the step of a paused run is done', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-held-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const [begun, may] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  Object.assign(globalThis, { heldStep: { begun: begun.resolve, may: may.promise } })
  const source = join(import.meta.dirname, '..', '..', 'src', 'index.ts')
  writeFileSync(
    join(dir, 'held.ts'),
    `import { workflow } from ${JSON.stringify(source)}
    export default workflow('held', (ctx) => ctx.step('hold', () => (globalThis.heldStep.begun(), globalThis.heldStep.may)))`,
  )
  const stayed = Promise.withResolvers<string>()
  let looks: number | undefined
  const isHeld = (): boolean => {
    if (looks === undefined) return true
    looks += 1
    if (looks > 5) stayed.resolve('stayed')
    return false
  }
  const onProblem = (error: unknown): void => expect.unreachable(String(error))
  const more = { say: () => undefined, onProblem, idle: 20, grace: 0, isHeld }
  const daemon = await startDaemon({ dir, version: '1.0.0', ...more })
  const client = await connect(daemon.record.socket)
  const run = (await client.call('runs.start', { file: join(dir, 'held.ts') })).run
  await begun.promise
  await client.run(run).pause()
  await client.close()
  // Without a reason to stay it ends at the second look from here on.
  looks = 0
  expect(await Promise.race([daemon.ended.then(() => 'ended'), stayed.promise])).toBe('stayed')
  may.resolve()
  await daemon.ended
  const after = await createHost({ dir, recover: false, wake: false })
  onTestFinished(() => after.close())
  expect((await after.journal(run)).map(({ event }) => event.type)).toContain('step-completed')
})
