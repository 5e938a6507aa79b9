/** Workflow files that the tests of the command run. `mark` counts effects in a file. */
const HEAD = `import { workflow } from 'nerve'
import { appendFileSync, existsSync } from 'node:fs'
const mark = (name) => appendFileSync('effects.txt', name + '\\n')
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const gateFile = async (file, signal) => { while (!existsSync(file) && !signal.aborted) await pause(10) }
`

/** Ends at once. */
export const greet = `${HEAD}
export default workflow('greet', { description: 'greets', params: { mood: 'good' }, budget: { usd: 3, tokens: 500 } }, async (ctx, input) => {
  const [a, b] = await ctx.all([() => ctx.step('left', () => 'L'), () => ctx.step('right', () => 'R')])
  for (let i = 0; i < 3; i += 1) await ctx.step('review', (call) => { call.usage({ usd: 0.01, tokens: 10 }); mark('review-' + i) })
  return { input, mood: ctx.params.mood, both: a + b }
})
`

/** Two questions, one after the other, between effects. */
export const asking = `${HEAD}
export default workflow('asking', async (ctx) => {
  await ctx.step('before', () => mark('before'))
  const answer = await ctx.ask('Publish this?', { choices: ['publish', 'revise'], deadline: '2d', onDeadline: { default: 'revise' } })
  await ctx.step('after', () => mark('after-' + answer))
  const name = await ctx.ask('Under which name?')
  return { answer, name }
})
`

/** Holds in a step until the file \`go\` is there. */
export const slow = `${HEAD}
export default workflow('slow', async (ctx) => {
  await ctx.step('first', () => mark('first'))
  await ctx.step('hold', async ({ signal }) => { mark('hold'); console.log('holding'); await gateFile('go', signal); signal.throwIfAborted() })
  await ctx.step('last', () => mark('last'))
  return 'over'
})
`

/** A command that is told something, twice, and a step that fails once. */
export const told = `${HEAD}
import { bash } from 'nerve/nodes'
const say = bash('say')
export default workflow('told', async (ctx) => {
  await ctx.all([() => ctx.run(say, 'echo one'), () => ctx.run(say, 'echo two\\necho lines')])
  await ctx.scope('retry', () => ctx.step('flaky', ({ attempt }) => { if (attempt < 2) throw new Error('not yet') }, { attempts: 2, backoff: 1 }))
})
`

export const failing = `${HEAD}
export default workflow('failing', async (ctx) => {
  await ctx.step('bad', () => { throw new TypeError('boom \\u001b[31mred') })
})
`

export const tolerant = `${HEAD}
export default workflow('tolerant', { errorPolicy: 'continue' }, async (ctx) => {
  await ctx.all([() => ctx.step('bad', () => { throw new Error('boom') }), () => ctx.step('good', () => 1)])
  return 'all the same'
})
`

export const costly = `${HEAD}
export default workflow('costly', async (ctx) => {
  for (let i = 0; i < 4; i += 1) await ctx.step('call', (call) => { call.usage({ usd: 1 }); mark('call-' + i) })
  return 'rich'
})
`

export const signalled = `${HEAD}
export default workflow('signalled', async (ctx) => {
  const paid = await ctx.waitFor('paid')
  return { paid }
})
`

/** What \`extra\` holds goes between two steps and a question: for changed code. */
export const changing = (extra: string): string => `${HEAD}
export default workflow('changing', async (ctx) => {
  const one = await ctx.step('one', () => { mark('one'); return 1 }${extra === 'other-input' ? `, { input: 'other' }` : ''})
  ${extra === 'renamed' ? `await ctx.step('renamed', () => { mark('renamed') })` : `await ctx.step('two', () => { mark('two') })`}
  const answer = await ctx.ask('Go on?', { choices: ['yes', 'no'] })
  await ctx.step('three', () => { mark('three') })
  return { one, answer }
})
`

export const parent = `${HEAD}
export const small = workflow('small', async (ctx, n) => ctx.step('double', () => n * 2))
export default workflow('parent', async (ctx) => ctx.child(small, 21))
`

export const asleep = `${HEAD}
export default workflow('asleep', (ctx) => ctx.sleep('1h'))
`

export const sleeping = `${HEAD}
export default workflow('sleeping', async (ctx) => { await ctx.sleep(150); return 'rested' })
`

/** Holds in a step that may have had its effect. */
export const once = `${HEAD}
export default workflow('once', async (ctx) =>
  ctx.step('pay', async ({ signal }) => { mark('pay'); console.log('holding'); await gateFile('go', signal) }, { effect: 'once' }))
`
