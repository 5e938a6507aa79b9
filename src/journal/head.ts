/** The row that lists are made of, from the state of a run. Pure. */
import { errorText } from '../base/nerve-error.ts'
import type { Usage } from './events.ts'
import { statusOf } from './fold.ts'
import type { RunState, Wait } from './run-state.ts'
import type { OpenQuestion, RunHead } from './port.ts'

/** `idle` says that every open child waits too, which only whoever drives the tree can know. */
export function headOf(state: RunState, idle = false): RunHead {
  const status = statusOf(state)
  const wake = wakeTime(state)
  const resting = idle && status === 'running' && state.inFlight.size === 0 && !state.cancelRequested
  return {
    run: state.run,
    root: state.root,
    definition: state.definition,
    status: resting && state.children.size > 0 ? 'waiting' : status,
    created: state.created,
    updated: state.updated,
    questions: openQuestions(state),
    signals: waitedSignals(state),
    usage: usageOf(state),
    failures: state.failures,
    steps: state.steps,
    ...(state.parent === undefined ? {} : { parent: state.parent.run }),
    ...(state.source === undefined ? {} : { source: state.source }),
    ...(state.ended === undefined ? {} : { ended: state.ended }),
    ...(wake === undefined ? {} : { wake }),
    ...(state.budget === undefined ? {} : { budget: state.budget }),
    ...(state.forkedFrom === undefined ? {} : { forkedFrom: state.forkedFrom.run }),
    ...(state.error === undefined ? {} : { error: errorText(state.error) }),
  }
}

export function usageOf(state: RunState): Usage {
  const { usd, tokens, calls, steps, seconds, window } = state.usage
  return {
    steps,
    ...(usd === 0 ? {} : { usd }),
    ...(tokens === 0 ? {} : { tokens }),
    ...(calls === 0 ? {} : { calls }),
    ...(seconds === 0 ? {} : { seconds }),
    ...(window === 0 ? {} : { window }),
  }
}

export function openQuestions(state: RunState): readonly OpenQuestion[] {
  if (state.questions === 0) return []
  const found: OpenQuestion[] = []
  for (const wait of state.waits.values()) {
    if (wait.kind !== 'question') continue
    const { type: _type, after: _after, ...question } = wait.question
    found.push({ ...question, asked: wait.since })
  }
  return found
}

function waitedSignals(state: RunState): readonly string[] {
  const names: string[] = []
  for (const wait of state.waits.values()) if (wait.kind === 'signal') names.push(wait.name)
  return names
}

function wakeTime(state: RunState): number | undefined {
  if (state.end !== undefined || state.paused || state.exhausted !== undefined) return undefined
  let wake: number | undefined
  for (const wait of state.waits.values()) {
    const at = waitEnd(wait)
    if (at !== undefined && (wake === undefined || at < wake)) wake = at
  }
  return wake
}

function waitEnd(wait: Wait): number | undefined {
  return wait.kind === 'question' ? wait.question.deadline : wait.until
}
