/**
 * A developer, a coach and a reviewer: the coach sends the draft back until it is good, the reviewer sends it back to
 * both, and a person says whether it is merged. The same as control nodes: dev-coach-review-graph.ts.
 *
 *     nerve run examples/dev-coach-review.ts --input "add a login"
 *     nerve answer QUESTION approve
 */
import { workflow } from 'nerve'
import { coach, dev, isAccepted, isApproved, rework, reviewer } from './team/team.ts'

export default workflow('dev-coach-review', { params: { maxOuter: 10, maxInner: 30 } }, async (ctx, task: string) => {
  const { maxOuter, maxInner } = ctx.params as { maxOuter: number; maxInner: number }
  let draft = await ctx.run(dev, `Implement: ${task}`)
  for (let outer = 1; outer <= maxOuter; outer += 1) {
    for (let inner = 1; inner <= maxInner; inner += 1) {
      const advice = await ctx.run(coach, draft)
      if (isAccepted(advice)) break
      draft = await ctx.run(dev, rework(advice, draft))
    }
    const review = await ctx.run(reviewer, draft)
    if (isApproved(review)) {
      const answer = await ctx.gate(`The reviewer approved. Merge?\n${draft}`)
      return { draft, rounds: outer, merged: answer === 'approve' }
    }
    draft = await ctx.run(dev, rework(review, draft))
  }
  return { draft, rounds: maxOuter, merged: false }
})
