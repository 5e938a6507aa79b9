/** The steps of a spec as they are written: by their ids, or as a list. */
import { checkSteps } from '../graph-steps.ts'
import { isRecord, type Key, type ShapeProblem } from '../../base/json-schema.ts'

export interface StepEntry {
  readonly id: string
  readonly step: unknown
  /** Where it is in `steps`. */
  readonly at: Key
}

/** Steps are given by their ids, or as a list with ids in it. */
export function entriesOf(steps: unknown): readonly StepEntry[] {
  if (Array.isArray(steps))
    return Array.from(steps, (step: unknown, at) => ({
      id: isRecord(step) && typeof step['id'] === 'string' ? step['id'] : '',
      step,
      at,
    }))
  return isRecord(steps) ? Object.entries(steps).map(([id, step]) => ({ id, step, at: id })) : []
}

export function afterOf(step: Readonly<Record<string, unknown>>): readonly string[] {
  const { after } = step
  if (typeof after === 'string') return [after]
  return Array.isArray(after) ? after.filter((one) => typeof one === 'string') : []
}

/** Ids and cycles, as for any graph; located at the first step that a problem names. */
export function structureProblems(entries: readonly StepEntry[], path: readonly Key[]): readonly ShapeProblem[] {
  const ids = new Set(entries.map(({ id }) => id))
  const steps = entries.map(({ id, step }) => ({
    id,
    node: 'any',
    after: isRecord(step) ? afterOf(step).filter((one) => ids.has(one)) : [],
  }))
  return checkSteps(steps, undefined).map((message) => {
    const named = [...message.matchAll(/'([^']*)'/gu)].map((found) => found[1])
    const entry = entries.findLast(({ id }) => id === named[0])
    return { path: entry === undefined ? path : [...path, entry.at], message, key: true }
  })
}
