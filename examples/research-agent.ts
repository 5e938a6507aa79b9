/**
 * Searches until there is enough, writes it down, and asks a person before it is done.
 *
 *     nerve run examples/research-agent.ts --input "error handling"
 *     nerve answer QUESTION approve
 */
import { workflow } from 'nerve'
import { evaluator, searcher, writer } from './team/team.ts'

export default workflow('research-agent', { params: { maxIterations: 5 } }, async (ctx, question: string) => {
  const most = ctx.params['maxIterations'] as number
  const findings: string[] = []
  let query = question
  while (findings.length < most) {
    findings.push(await ctx.run(searcher, `Search for: ${query}`))
    const verdict = await ctx.run(evaluator, [...findings])
    if (verdict === 'SUFFICIENT') break
    query = verdict
  }
  ctx.emit('phase', { name: 'synthesize', searches: findings.length })
  const answer = await ctx.run(writer, findings)
  const approval = await ctx.gate(`The research is done. Approve?\n\n${answer.slice(0, 500)}`)
  return approval === 'approve'
    ? { approved: true, answer, searches: findings.length }
    : { approved: false, feedback: approval }
})
