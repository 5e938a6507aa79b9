/** Child runs: runs of their own, linked to their parent, inside its budget and its cancel. */
import { checkKnown } from '../base/check-known.ts'
import { NerveError, errorData, errorFrom, type ErrorData } from '../base/nerve-error.ts'
import type { ChildEnded } from '../journal/events.ts'
import { statusOf } from '../journal/fold.ts'
import type { RunState } from '../journal/run-state.ts'
import { usageOf } from '../journal/head.ts'
import type { AnyDefinition, ChildOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { isLabel, type Place } from './scope.ts'
import { after } from './waits.ts'

export interface ChildStart {
  readonly definition: AnyDefinition
  readonly input: unknown
  readonly options: ChildOptions
}

/** What the engine does for a child: creates it in the parent's commit, or loads it again. Both drive it. */
export interface ChildStarter {
  create(parent: Execution, place: Place, start: ChildStart): Promise<Execution>
  load(parent: Execution, place: Place, run: string, definition: AnyDefinition): Promise<Execution>
  /** Resolves when the run has ended in the journal. */
  finished(execution: Execution): Promise<void>
}

export async function child(execution: Execution, children: ChildStarter, start: ChildStart): Promise<unknown> {
  const { definition, options } = start
  if (typeof definition !== 'object' || definition === null || typeof definition.run !== 'function') {
    throw new NerveError('bad-definition', 'child needs a definition: ctx.child(definition, input).')
  }
  checkKnown('ctx.child', options, ['label', 'params', 'budget'])
  const place = execution.enter(options.label ?? (isLabel(definition.name) ? definition.name : 'child'))
  const recorded = execution.take(place.path, 'child')
  if (recorded?.type === 'child-ended') {
    await execution.turn(place)
    return outcome(execution, recorded)
  }
  const started =
    recorded?.type === 'child-started'
      ? await children.load(execution, place, recorded.child, definition)
      : await startNew(execution, children, place, start)
  await children.finished(started)
  const ended = endOf(started.state, place)
  // A parent that has ended meanwhile, and took its children with it, says nothing more.
  if (execution.state.end !== undefined) return outcome(execution, ended)
  const recordedEnd = execution.commit(ended, place)
  // What the child spent is in its parent's state from here on.
  started.ledger.close()
  await recordedEnd
  return outcome(execution, ended)
}

async function startNew(
  execution: Execution,
  children: ChildStarter,
  place: Place,
  start: ChildStart,
): Promise<Execution> {
  for (let wait = execution.replayEnd ?? execution.tree.hold; wait !== undefined; wait = execution.tree.hold) await wait
  if (execution.closed !== undefined) throw execution.closed
  if (place.scope.stopped !== undefined) throw place.scope.stopped
  checkDepth(execution)
  return children.create(execution, place, start)
}

function checkDepth(execution: Execution): void {
  const depth = execution.state.depth + 1
  for (let at: Execution | undefined = execution; at !== undefined; at = at.parent) {
    const limit = at.state.budget?.depth
    if (limit === undefined || depth - at.state.depth <= limit) continue
    throw new NerveError(
      'budget-exhausted',
      `Run ${at.run} allows child runs ${limit} deep; this one would be ${depth - at.state.depth} deep.`,
      {
        data: { dimension: 'depth', limit },
      },
    )
  }
}

/** How a child ended, as its parent's journal says it. */
export function endOf(state: RunState, place: Pick<Place, 'path' | 'after'>): ChildEnded {
  const status = statusOf(state)
  const error: ErrorData | undefined =
    state.error ??
    (status === 'cancelled'
      ? errorData(new NerveError('cancelled', `Child run ${state.run} was cancelled.`))
      : undefined)
  return {
    type: 'child-ended',
    path: place.path,
    child: state.run,
    status: status as ChildEnded['status'],
    usage: usageOf(state),
    ...after(place),
    ...(state.output === undefined ? {} : { output: state.output }),
    ...(error === undefined ? {} : { error }),
  }
}

function outcome(execution: Execution, ended: ChildEnded): unknown {
  if (ended.error === undefined) return ended.output
  const error = errorFrom(ended.error)
  execution.tree.blame(error, ended.path)
  throw error
}
