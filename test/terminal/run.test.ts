/** Terminals in runs: the journal, live parts, and what may happen after a crash. */
import { createHost, workflow } from 'nerve'
import { graph } from 'nerve/graph'
import { expect, it, onTestFinished } from 'vitest'
import { openStage } from '../behaviour/stage.ts'
import { RecordingStore } from '../properties/recording-store.ts'
import { open } from './open.ts'

it('are steps, whose results say which rule fired', async () => {
  const shell = open()
  const host = await createHost({ store: 'memory' })
  onTestFinished(() => host.close())
  const parts: unknown[] = []
  host.subscribe({ live: true }, (heard) => {
    if ('live' in heard) parts.push([heard.path, heard.type, heard.data])
  })
  const built = graph('build')
    .step('go', shell, { input: 'cd /usr && echo going' })
    .step('where', shell, { after: ['go'], input: 'pwd' })
  const run = await host.start(built)
  const { go, where } = await run.result()
  expect(go).toMatchObject({ output: 'going\n', exitCode: 0, rule: 'marks' })
  expect(where.output).toBe('/usr\n')
  expect(parts).toContainEqual(['go', 'output', 'going\n'])
  const events: unknown[] = []
  for await (const event of run.events()) events.push(event)
  const recorded = JSON.stringify(events)
  expect(recorded).toContain('"rule":"marks"')
})

it('ask a person what became of a command that was in flight at a crash', async () => {
  const shell = open()
  await shell.start()
  const store = new RecordingStore()
  const deploy = workflow('deploy', async (ctx) => (await ctx.run(shell, 'sleep 0.5; echo deployed')).output)
  const { host: first } = await openStage({ store })
  const run = await first.start(deploy)
  await expect.poll(() => shell.state).toBe('busy')
  const { host: second } = await openStage({
    store: await store.crashedAfter(store.commits.length),
    definitions: [deploy],
  })
  const again = await second.handle(run.id)
  expect(await again.rest()).toBe('waiting')
  const [question] = await second.inbox()
  expect(question).toMatchObject({ kind: 'recovery', run: run.id })
  await again.answer(question!.id, 'retry')
  expect(await again.result()).toBe('deployed\n')
})

it('interrupt the command when its run is cancelled', async () => {
  const shell = open()
  const host = await createHost({ store: 'memory' })
  onTestFinished(() => host.close())
  const run = await host.start(workflow('long', async (ctx) => ctx.run(shell, 'sleep 100')))
  await expect.poll(() => shell.readTail(1)).toContain('sleep 100')
  await run.cancel({ reason: 'enough' })
  await expect(run.result()).rejects.toMatchObject({ code: 'cancelled' })
  expect(await shell.execute('echo free')).toMatchObject({ output: 'free\n', exitCode: 0 })
})
