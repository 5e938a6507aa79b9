import { createHost, workflow } from 'nerve'
import { expect, it, onTestFinished } from 'vitest'
import { identity } from './identity.ts'

it('returns its input, in a run and in a copy', async () => {
  const host = await createHost({ store: 'memory' })
  onTestFinished(() => host.close())
  const node = identity<string>('same', { description: 'nothing' })
  const copy = node.fork?.('copy')
  if (copy !== undefined) host.register(copy)
  const run = await host.start(
    workflow('same', async (ctx) => [await ctx.run(node, 'a'), await ctx.run<unknown>('copy', 'b')]),
  )
  expect(await run.result()).toEqual(['a', 'b'])
  expect(copy?.info()).toMatchObject({ id: 'copy', kind: 'identity', description: 'nothing', forkedFrom: 'same' })
})

it('refuses options that it does not have', () => {
  expect(() => identity('x', { desription: 'y' } as object)).toThrow("Did you mean 'description'")
  expect(() => identity('')).toThrow('not an id')
})
