/** A step that had started when its process died: run it again, let it resume, or ask a person. */
import { NerveError, errorData, type ErrorData } from '../base/nerve-error.ts'
import type { PlacedEvent } from '../journal/outcomes.ts'
import { recoveryPath } from '../journal/outcomes.ts'
import type { StepRun } from './step.ts'
import { after, askAt } from './waits.ts'

interface Ways<Output> {
  readonly again: (attempt: number, resumed: boolean) => Promise<Output>
  readonly settleFailure: (one: StepRun<Output>, error: ErrorData, attempt: number) => Promise<Output>
}

export async function recover<Output>(
  one: StepRun<Output>,
  recorded: PlacedEvent,
  ways: Ways<Output>,
): Promise<Output> {
  const attempt = recorded.type === 'step-started' ? recorded.attempt : 1
  const effect = (recorded.type === 'step-started' ? recorded.effect : undefined) ?? 'repeatable'
  if (effect !== 'once') return ways.again(attempt, true)
  const { execution, place } = one
  const answer = await askAt(execution, place, {
    kind: 'recovery',
    path: recoveryPath(place.path, attempt),
    attempt,
    prompt: `Step '${place.path}' had started when its process died, and must not run twice. Nobody knows whether it had its effect.`,
    options: {
      choices: ['retry', 'skip', 'fail'],
      detail: { step: place.path, attempt, key: `${execution.run}/${place.path}` },
    },
  })
  if (answer === 'retry') return ways.again(attempt + 1, false)
  const lost = errorData(
    new NerveError(
      'interrupted',
      `Step '${place.path}' was in flight when its process died, and was ${answer === 'fail' ? 'failed' : 'skipped'} by hand.`,
    ),
  )
  if (answer === 'fail') {
    const now = execution.clock.now()
    await execution.commit({
      type: 'step-failed',
      path: place.path,
      attempt,
      error: lost,
      final: true,
      started: now,
      ...after(place),
    })
    return ways.settleFailure(one, lost, attempt)
  }
  const value = typeof answer === 'object' && answer !== null ? (answer as { skip?: unknown }).skip : undefined
  await execution.commit({
    type: 'step-skipped',
    path: place.path,
    error: lost,
    ...after(place),
    ...(value === undefined ? {} : { value }),
  })
  return value as Output
}
