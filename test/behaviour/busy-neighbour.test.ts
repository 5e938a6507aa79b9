/** A run that commits without a pause keeps nobody waiting. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { workflow, type Host } from 'nerve'
import { openStage, quiet } from './stage.ts'

const MANY = 30_000

/** Starts a run that makes steps until it is told to stop, but not for ever; tells how many it made. */
async function startTight(host: Host): Promise<{ steps(): number; stop(): void }> {
  let [steps, stopped] = [0, false]
  const tight = workflow('tight', async (ctx) => {
    while (!stopped && steps < MANY) await ctx.step('tick', () => (steps += 1))
  })
  const run = await host.start(tight)
  run.result().catch(() => undefined)
  while (steps < 10) await turn()
  return { steps: () => steps, stop: () => (stopped = true) }
}

const idle = workflow('idle', { budget: { steps: 1 } }, async (ctx) => {
  await ctx.step('one', () => 1)
  await ctx.ask('?')
  await ctx.step('two', () => 2)
})

it.each(['cancel', 'resume', 'answer', 'answer again', 'pause', 'cancel a stored run'])(
  '%s is acknowledged beside it',
  async (what) => {
    const first = await openStage()
    const begun = await first.host.start(idle)
    await begun.rest()
    const question = (await first.host.inbox())[0]?.id ?? ''
    if (what === 'answer again') await begun.answer(question, 'yes')
    const isStored = what === 'cancel a stored run'
    if (isStored) await first.host.close()
    const { host } = isStored ? await openStage({ store: first.store, recover: false }) : first
    const { steps, stop } = await startTight(host)
    const mine = await host.handle(begun.id)
    const commands: Record<string, () => Promise<unknown>> = {
      cancel: () => mine.cancel(),
      resume: () => mine.resume({ budget: { steps: 5 } }),
      answer: () => mine.answer(question, 'yes'),
      'answer again': () => mine.answer(question, 'no').catch(() => undefined),
      pause: () => mine.pause(),
      'cancel a stored run': () => mine.cancel(),
    }
    await commands[what]?.()
    expect(steps()).toBeLessThan(MANY)
    stop()
  },
)

it('the host closes beside it', async () => {
  const { host } = await openStage()
  const { steps } = await startTight(host)
  await host.close()
  const left = steps()
  expect(left).toBeLessThan(MANY)
  await quiet()
  expect(steps()).toBe(left)
})
