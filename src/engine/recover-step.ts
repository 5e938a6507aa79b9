/** A step that had started when its process died: run it again, let it resume, or ask a person. */
import type { PlacedEvent } from '../journal/outcomes.ts'
import { askWhatToDo, attempt, fallbackOf, type StepRun } from './attempts.ts'

export async function recover<Output>(one: StepRun<Output>, recorded: PlacedEvent): Promise<Output> {
  const started = recorded.type === 'step-started' ? recorded : undefined
  const number = started?.attempt ?? 1
  const lost = started?.kind === 'fallback' ? fallbackOf(one, number) : one
  return started?.effect === 'once' ? askWhatToDo(lost, number, 'crash') : attempt(lost, number, true)
}
