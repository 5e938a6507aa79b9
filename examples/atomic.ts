/**
 * From a task to a pull request: research, a spec that a person approves, a list of features, one after the other
 * implemented until its test passes, and a debug report when one does not. The nodes are scripted; the way is real.
 *
 *     nerve run examples/atomic.ts --input '{"task":"a login page"}'
 *     nerve answer QUESTION approve
 */
import { channel, raise, stateGraph } from 'nerve/state'

interface Feature {
  readonly id: string
  readonly text: string
  readonly attempts: number
  readonly passes: boolean
}

const MOST_ATTEMPTS = 3

const channels = {
  task: channel<string>(),
  research: channel({ default: () => '' }),
  spec: channel({ default: () => '' }),
  approved: channel({ default: () => false }),
  features: channel.mergeById<Feature>('id'),
  log: channel.concat<string>(),
  pullRequest: channel<string | undefined>(),
}

const isOpen = ({ passes, attempts }: Feature): boolean => !passes && attempts < MOST_ATTEMPTS

/** What the scripted developer can do: the second feature passes at the second try, the last one never. */
function implement(feature: Feature): Feature {
  const attempts = feature.attempts + 1
  const needed: Record<string, number> = { form: 1, check: 2, captcha: Infinity }
  return { ...feature, attempts, passes: attempts >= (needed[feature.id] ?? 1) }
}

export default stateGraph('atomic', channels)
  .start()
  .then('research', ({ task }) => ({ research: `What is known about ${task}.` }))
  .loop({ until: ({ approved }) => approved, max: 5 }, (round) =>
    round
      .then('write-spec', ({ task, spec }) => ({ spec: spec === '' ? `How to build ${task}.` : `${spec} Shorter.` }))
      .wait(({ spec }) => `Is this spec good?\n${spec}`, {
        choices: ['approve', 'revise'],
        into: (answer) => ({ approved: answer === 'approve' }),
      }),
  )
  .then('list-features', () => ({
    features: ['form', 'check', 'captcha'].map((id) => ({ id, text: `the ${id}`, attempts: 0, passes: false })),
  }))
  .loop({ until: ({ features }) => !features.some(isOpen), max: 20 }, (round) =>
    round.then('implement', ({ features }) => {
      const feature = features.find(isOpen)
      if (feature === undefined) return {}
      const tried = implement(feature)
      const update = { features: [tried], log: [`${tried.id}: ${tried.passes ? 'passes' : 'fails'}`] }
      if (tried.passes || isOpen(tried)) return update
      const report = { errorSummary: `${tried.text} failed ${tried.attempts} times`, suggestedFixes: ['ask a person'] }
      return raise(update, { type: 'debug_report_generated', report })
    }),
  )
  .if(({ features }) => features.some(({ passes }) => passes))
  .then('pull-request', ({ task, features }) => ({
    pullRequest: `${task}: ${features
      .filter(({ passes }) => passes)
      .map(({ id }) => id)
      .join(', ')}`,
  }))
  .endif()
  .end()
  .compile({ description: 'Research, spec, approval, features, pull request' })
