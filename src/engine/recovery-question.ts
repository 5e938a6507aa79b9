/** What a person makes of an attempt that must not run twice, and of which nobody knows whether it had its effect. */
import { NerveError, errorData, type ErrorData } from '../base/nerve-error.ts'
import { recoveryPath } from '../journal/outcomes.ts'
import type { StepOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { handledBy } from './policy.ts'
import type { Place } from './scope.ts'
import { after, askAt } from './waits.ts'

/** How the attempt was lost: its process died in it, or its budget stopped it. */
export type Loss = 'crash' | 'budget'

export type Verdict =
  | { readonly type: 'retry' }
  | { readonly type: 'failed'; readonly error: ErrorData }
  | { readonly type: 'skipped'; readonly value: unknown }

interface Asked<Output> {
  readonly execution: Execution
  readonly place: Place
  readonly options: StepOptions<Output>
}

/** Asks, and writes down an answer that gives the step its outcome. */
export async function verdictOn<Output>(one: Asked<Output>, attempt: number, loss: Loss): Promise<Verdict> {
  const { execution, place, options } = one
  const { path } = place
  const [asked, told] = WORDS[loss]
  const answer = await askAt(execution, place, {
    kind: 'recovery',
    path: recoveryPath(path, attempt),
    attempt,
    prompt: `Step '${path}' ${asked}, and must not run twice. Nobody knows whether it had its effect.`,
    options: {
      choices: ['retry', 'skip', 'fail'],
      detail: { step: path, attempt, key: `${execution.run}/${path}` },
    },
  })
  if (answer === 'retry') return { type: 'retry' }
  const by = answer === 'fail' ? 'failed' : 'skipped'
  const error = errorData(new NerveError('interrupted', `Step '${path}' ${told}, and was ${by} by hand.`))
  if (answer === 'fail') {
    const started = execution.clock.now()
    await execution.commit(
      { type: 'step-failed', path, attempt, error, final: true, started, ...after(place), ...handledBy(options) },
      place,
    )
    return { type: 'failed', error }
  }
  const value = typeof answer === 'object' && answer !== null ? (answer as { skip?: unknown }).skip : undefined
  const kept = value === undefined ? {} : { value }
  await execution.commit({ type: 'step-skipped', path, error, ...after(place), ...kept }, place)
  return { type: 'skipped', value }
}

const WORDS: Readonly<Record<Loss, readonly [string, string]>> = {
  crash: ['had started when its process died', 'was in flight when its process died'],
  budget: ['was stopped by its budget', 'was stopped by its budget'],
}
