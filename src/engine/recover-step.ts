/** A step that had started when its process died: run it again, let it resume, or ask a person. */
import { NerveError, errorData } from '../base/nerve-error.ts'
import type { PlacedEvent } from '../journal/outcomes.ts'
import { recoveryPath } from '../journal/outcomes.ts'
import { attempt, fallbackOf, handledBy, settleFailure, type StepRun } from './attempts.ts'
import { after, askAt } from './waits.ts'

export async function recover<Output>(one: StepRun<Output>, recorded: PlacedEvent): Promise<Output> {
  const started = recorded.type === 'step-started' ? recorded : undefined
  const number = started?.attempt ?? 1
  const lost = started?.kind === 'fallback' ? fallbackOf(one, number) : one
  return started?.effect === 'once' ? askWhatToDo(lost, number) : attempt(lost, number, true)
}

async function askWhatToDo<Output>(one: StepRun<Output>, number: number): Promise<Output> {
  const { execution, place } = one
  const answer = await askAt(execution, place, {
    kind: 'recovery',
    path: recoveryPath(place.path, number),
    attempt: number,
    prompt: `Step '${place.path}' had started when its process died, and must not run twice. Nobody knows whether it had its effect.`,
    options: {
      choices: ['retry', 'skip', 'fail'],
      detail: { step: place.path, attempt: number, key: `${execution.run}/${place.path}` },
    },
  })
  if (answer === 'retry') return attempt(one, number + 1)
  const lost = errorData(
    new NerveError(
      'interrupted',
      `Step '${place.path}' was in flight when its process died, and was ${answer === 'fail' ? 'failed' : 'skipped'} by hand.`,
    ),
  )
  if (answer === 'fail') {
    const now = execution.clock.now()
    await execution.commit(
      {
        type: 'step-failed',
        path: place.path,
        attempt: number,
        error: lost,
        final: true,
        started: now,
        ...after(place),
        ...handledBy(one.options),
      },
      place,
    )
    return settleFailure(one, lost, number)
  }
  const value = typeof answer === 'object' && answer !== null ? (answer as { skip?: unknown }).skip : undefined
  await execution.commit(
    {
      type: 'step-skipped',
      path: place.path,
      error: lost,
      ...after(place),
      ...(value === undefined ? {} : { value }),
    },
    place,
  )
  return value as Output
}
