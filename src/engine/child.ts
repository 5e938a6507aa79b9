/** Child runs: runs of their own, linked to their parent, inside its budget and its cancel. */
import { checkKnown } from '../base/check-known.ts'
import { NerveError, errorData, errorFrom, type ErrorData } from '../base/nerve-error.ts'
import type { ChildEnded } from '../journal/events.ts'
import { statusOf } from '../journal/fold.ts'
import { usageOf } from '../journal/head.ts'
import type { AnyDefinition, ChildOptions } from './definition.ts'
import type { Execution } from './execution.ts'
import { never, whenFree } from './held-back.ts'
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
      : await whenFree(execution, place.scope, () => startNew(execution, children, place, start))
  await children.finished(started)
  // A parent that ends takes its children with it and says so itself; its code goes no further.
  if (execution.over !== undefined) return never()
  const ended = endOf(started)
  const told = execution.commit(ended, place)
  forget(started)
  await told
  return outcome(execution, ended)
}

async function startNew(
  execution: Execution,
  children: ChildStarter,
  place: Place,
  start: ChildStart,
): Promise<Execution> {
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

/** Says in the journal of its parent how a child ended that the code of the parent does not wait for. */
export function tellEnd(child: Execution): void {
  const { parent, state } = child
  if (parent === undefined || state.end === undefined) return
  parent.append({ ...endOf(child), unawaited: true })
  forget(child)
}

/** From here on what the child spent is in its parent's state. */
function forget(child: Execution): void {
  child.parent?.children.delete(child.path)
  child.ledger.close()
}

function endOf(child: Execution): ChildEnded {
  const { state, origin, path } = child
  const status = statusOf(state)
  const error: ErrorData | undefined =
    state.error ??
    (status === 'cancelled'
      ? errorData(new NerveError('cancelled', `Child run ${state.run} was cancelled.`))
      : undefined)
  return {
    type: 'child-ended',
    path,
    child: state.run,
    status: status as ChildEnded['status'],
    usage: usageOf(state),
    ...(origin === undefined ? {} : after(origin)),
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
