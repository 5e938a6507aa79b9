/**
 * Something to kill. It takes a few seconds; kill its process with `kill -9`, then take it up again:
 *
 *     nerve run examples/resume.ts --input '{"rounds":5,"pause":1000}'
 *     nerve resume --all
 *
 * The lines it prints are the steps that really ran: no round is printed twice, but perhaps the one that was in flight.
 */
import { workflow } from 'nerve'

export default workflow('resume', async (ctx, input: { rounds: number; pause: number }) => {
  const began = ctx.now()
  let sum = 0
  for (let round = 1; round <= input.rounds; round += 1) {
    sum += await ctx.step('round', ({ path }) => {
      console.error(`${path} runs`)
      return round
    })
    await ctx.sleep(input.pause)
  }
  return { sum, took: ctx.now() - began }
})
