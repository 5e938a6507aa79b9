/** The workflow of the tour: parallel steps, a loop, a retry, a budget and a question, in plain TypeScript. */
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { workflow } from 'nerve'

/** Stands for a call to a model: takes a while, costs something, and leaves one line in the file of effects. */
async function work(name: string, ms: number, effects: string): Promise<string> {
  await wait(ms)
  appendFileSync(effects, `${name}\n`)
  return name
}

export default workflow('tour', { budget: { usd: 0.5, tokens: 20_000 } }, async (ctx, input: { effects: string }) => {
  const { effects } = input

  const notes = await ctx.all(
    ['docs', 'code', 'issues'].map(
      (topic, index) => () =>
        ctx.step(`read-${topic}`, async (call) => {
          call.usage({ usd: 0.02, tokens: 900 })
          return work(`read-${topic}`, 250 + index * 120, effects)
        }),
    ),
  )

  let text = await ctx.step('draft', () => work('draft', 200, effects))
  for (let round = 1; round <= 3; round += 1) {
    text = await ctx.step('review', async (call) => {
      call.usage({ usd: 0.03, tokens: 1_500 })
      return work(`review-${round}`, 350, effects)
    })
  }

  await ctx.step(
    'check-links',
    async (call) => {
      if (call.attempt === 1) throw new Error('the network is away')
      return work('check-links', 100, effects)
    },
    { attempts: 3, backoff: 300 },
  )

  const answer = await ctx.ask('Publish this text?', { choices: ['publish', 'discard'] })
  if (answer === 'publish') await ctx.step('publish', () => work('publish', 150, effects), { effect: 'once' })
  return { read: notes.length, text, answer }
})
