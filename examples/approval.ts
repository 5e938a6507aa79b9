/**
 * A plan, a gate, and a revision for each "reject", at most three times. A signal goes past the gate.
 *
 *     nerve run examples/approval.ts --input '{"goal":"ship it"}'
 *     nerve answer QUESTION approve
 *     nerve signal RUN override '"the boss"'
 */
import { workflow } from 'nerve'

const MOST_REVISIONS = 3

export default workflow('approval', async (ctx, input: { goal: string }) => {
  let plan = await ctx.step('plan', () => `1. think about how to ${input.goal}`)
  for (let revision = 1; revision <= MOST_REVISIONS; revision += 1) {
    const decision = await ctx.race<string>([
      () => ctx.gate(`Go ahead with this plan? (revision ${revision})\n${plan}`),
      async () => `override by ${await ctx.waitFor<string>('override')}`,
    ])
    if (decision !== 'reject') return { plan, decision }
    const notes = await ctx.messages()
    plan = await ctx.step('revise', () => [plan, ...notes.map(String)].join('\n'))
  }
  return { plan, decision: 'given up' }
})
