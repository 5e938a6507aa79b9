/** The workflow of the chaos: adds up what its steps return, so that a step that is lost or counted twice shows in the sum. */

/** Asked when everything else is done. */
export const LAST_QUESTION = 'And to end with?'

/** Every tenth step is a question. */
export const adding = `import { workflow } from 'nerve'
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export default workflow('adding', async (ctx, { steps, seed }) => {
  let sum = 0
  for (let i = 0; i < steps; i += 1) {
    if (i % 10 === 9) sum += Number(await ctx.ask('How many?', { label: 'ask', choices: ['1', '2'] }))
    else sum += await ctx.step('add', async () => { await pause((seed * 7 + i * 13) % 40); return i })
  }
  return sum + Number(await ctx.ask('${LAST_QUESTION}', { label: 'last', choices: ['1', '2'] }))
})
`

export function expectedSum(steps: number): number {
  return Array.from({ length: steps }, (_, i) => (i % 10 === 9 ? 2 : i)).reduce((a, b) => a + b, 2)
}
