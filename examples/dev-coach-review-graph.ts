/**
 * The same as dev-coach-review.ts, as a graph of control nodes: it can be checked and drawn before it runs.
 *
 *     nerve run examples/dev-coach-review-graph.ts --input "add a login"
 *     nerve explain examples/dev-coach-review-graph.ts --mermaid
 */
import { Gate, Loop, While } from 'nerve/control'
import { graph } from 'nerve/graph'
import { coach, dev, isAccepted, isApproved, rework, reviewer } from './team/team.ts'

interface Work {
  readonly draft: string
  readonly accepted: boolean
  readonly approved: boolean
}

const coaching = graph<Work>('coaching-round')
  .step('coach', coach, { inputFn: (_, { input }) => input.draft })
  .step('dev', dev, {
    after: ['coach'],
    when: ({ coach: advice }) => !isAccepted(advice),
    inputFn: ({ coach: advice }, { input }) => rework(advice, input.draft),
  })
  .returns(({ coach: advice, dev: draft }, { input }): Work => ({
    ...input,
    draft: draft ?? input.draft,
    accepted: isAccepted(advice),
  }))

const round = graph<Work>('review-round')
  .step(
    'coaching',
    While({ id: 'coaching', condition: ({ value }) => !value.accepted, body: coaching, maxIterations: 30 }),
    {
      inputFn: (_, { input }) => ({ ...input, accepted: false }),
    },
  )
  .step('reviewer', reviewer, { after: ['coaching'], inputFn: ({ coaching: coached }) => coached.value.draft })
  .step('dev', dev, {
    after: ['coaching', 'reviewer'],
    when: ({ reviewer: review }) => !isApproved(review),
    inputFn: ({ coaching: coached, reviewer: review }) => rework(review, coached.value.draft),
  })
  .returns(({ coaching: coached, reviewer: review, dev: draft }): Work => ({
    draft: draft ?? coached.value.draft,
    accepted: true,
    approved: isApproved(review),
  }))

export default graph<string>('dev-coach-review-graph')
  .step('dev', dev, { inputFn: (_, { input }) => `Implement: ${input}` })
  .step('rounds', Loop({ id: 'rounds', body: round, until: ({ value }) => value.approved, maxIterations: 10 }), {
    after: ['dev'],
    inputFn: ({ dev: draft }) => ({ draft, accepted: false, approved: false }),
  })
  .step('merge', Gate({ id: 'merge', prompt: (work: Work) => `The reviewer approved. Merge?\n${work.draft}` }), {
    after: ['rounds'],
    when: ({ rounds }) => rounds.value.approved,
    inputFn: ({ rounds }) => rounds.value,
  })
  .returns(({ rounds, merge }) => ({
    draft: rounds.value.draft,
    rounds: rounds.iterations,
    merged: merge === 'approve',
  }))
