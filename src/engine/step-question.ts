/**
 * Questions of a step's function. They are in the journal and in the inbox like all others, and unlike them no replay
 * comes back to them: the step has its outcome, or its next attempt asks again.
 */
import { NerveError } from '../base/nerve-error.ts'
import { questionPath } from '../journal/outcomes.ts'
import type { Call } from './call.ts'
import type { StepAskOptions } from './definition.ts'
import { checkAsk, newQuestion, openQuestion } from './waits.ts'

export async function askInside<Choice extends string, Answer>(
  call: Call,
  prompt: string,
  { kind = 'ask', signal, ...options }: StepAskOptions<Choice, Answer> = {},
): Promise<Answer> {
  const { owner, place, attempt } = call
  checkAsk(prompt, options)
  const stop = signal === undefined ? call.signal : AbortSignal.any([call.signal, signal])
  stop.throwIfAborted()
  if (call.ended || owner.closed !== undefined) throw hasEnded(call.path)
  // A reader of the journal sees who asks before what is asked.
  call.announce()
  call.asked += 1
  const path = questionPath(place.path, attempt, call.asked)
  const asked = newQuestion(owner, place, { prompt, options, kind, path, attempt })
  watch(call, 1)
  const ended = new AbortController()
  try {
    return (await new Promise<unknown>((resolve, reject) => {
      openQuestion(owner, place, { of: call, asked, schema: options.schema, resolve, reject })
      const takeBack = (): void => {
        if (owner.closed === undefined) owner.waits.get(path)?.withdraw(undefined)
        reject(stop.reason as unknown)
      }
      stop.addEventListener('abort', takeBack, { signal: ended.signal })
    })) as Answer
  } finally {
    ended.abort()
    watch(call, -1)
  }
}

/** The attempt has its outcome: what it still asks leaves the inbox with it. */
export function withdrawAll(call: Call): void {
  if (call.owner.closed !== undefined) return
  for (const wait of [...call.owner.waits.values()]) if (wait.of === call) wait.withdraw(hasEnded(call.path))
}

export function hasEnded(path: string): NerveError {
  return new NerveError('interrupted', `Step '${path}' has ended: nobody waits for what it still does.`)
}

/** While everything that runs waits for people, no time is spent. */
function watch(call: Call, change: 1 | -1): void {
  const before = call.asking
  call.asking += change
  const { owner } = call
  if (call.ended || (before === 0) === (call.asking === 0)) return
  owner.calls.asks(change, owner.clock.now())
  owner.tree.asked(owner)
}
