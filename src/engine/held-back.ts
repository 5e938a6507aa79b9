/**
 * Whether something may start in a part of a run: an attempt of a step, a child, an item of a map. They all ask here, and again
 * after everything that they waited for.
 */
import type { Execution } from './execution.ts'
import { stoppedBy, type Scope } from './scope.ts'

/** True when nothing starts there any more. */
export function isRefused(execution: Execution, scope: Scope): boolean {
  return execution.over !== undefined || stoppedBy(scope) !== undefined
}

/**
 * What has to be over before something starts there; undefined when it may start now. Throws when this part of the run was
 * stopped. When the run is over, or was given up here, code that still wants something of it gets no further: an error would be
 * one that nobody handles.
 */
export function heldBack(execution: Execution, scope: Scope): Promise<void> | undefined {
  if (execution.over !== undefined) return never()
  const stopped = stoppedBy(scope)
  if (stopped !== undefined) throw stopped
  return execution.replayEnd ?? execution.tree.hold
}

/** For code that goes no further. A new one each time: what waits for it is forgotten with it. */
export function never(): Promise<never> {
  return new Promise(() => undefined)
}

/** Starts something as soon as it may start there: nothing comes between the last look and the start. */
export function whenFree<Value>(execution: Execution, scope: Scope, start: () => Promise<Value>): Promise<Value> {
  const held = heldBack(execution, scope)
  return held === undefined ? start() : held.then(() => whenFree(execution, scope, start))
}
