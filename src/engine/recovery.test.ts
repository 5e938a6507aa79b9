import { expect, it, onTestFinished } from 'vitest'
import { createHost, workflow } from 'nerve'
import { MemoryStore, SimulatedClock } from 'nerve/testing'
import { quiet, until } from '../../test/behaviour/stage.ts'
import type { AnyDefinition } from './definition.ts'
import { Engine } from './engine.ts'
import { Keeper } from './recovery.ts'

/** Counts how often somebody looks for what wants to be woken. */
class CountingStore extends MemoryStore {
  looks = 0

  override nextWake(): Promise<number | undefined> {
    this.looks += 1
    return super.nextWake()
  }
}

it('a run that is due and whose file takes its time to load is looked at now and then, and woken when it is there', async () => {
  const [store, clock] = [new CountingStore(), new SimulatedClock()]
  const napping = workflow('napping', async (ctx, ms: number) => {
    await ctx.sleep(ms)
    return 'awake'
  })
  const host = await createHost({ store, clock, maxResident: 0 })
  const [run, second] = [await host.start(napping, 1_000), await host.start(napping, 17_000)]
  for (const one of [run, second]) await one.rest()
  await quiet()
  await host.close()
  const loading = Promise.withResolvers<AnyDefinition>()
  const problems: unknown[] = []
  const onProblem = (error: unknown): void => void problems.push(error)
  const engine = new Engine({
    store,
    clock,
    durability: 'process',
    resolve: () => loading.promise,
    names: () => new Map(),
    onProblem,
  })
  const keeper = new Keeper(engine, onProblem)
  onTestFinished(() => keeper.close())
  await keeper.schedule()
  // Due, then given up for now, then looked at again.
  for (const ms of [1_000, 5_000, 10_000]) {
    clock.advance(ms)
    await quiet()
  }
  const before = store.looks
  await quiet(200)
  expect(store.looks - before).toBeLessThan(2)
  expect(problems).toHaveLength(1)
  const hasEnded = async ({ id }: { id: string }): Promise<boolean> => (await store.find(id))?.head.ended !== undefined
  loading.resolve(napping)
  await until(() => hasEnded(run))
  // Another one does not wait until it would have been looked at again.
  clock.advance(1_000)
  await until(() => hasEnded(second))
  await engine.close()
})
