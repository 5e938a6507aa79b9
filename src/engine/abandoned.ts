/** Ending recorded runs whose code does not go on: cancelled children, and those in a part of their parent that is over. */
import { endOf } from './child.ts'
import type { Engine } from './engine.ts'
import type { Execution } from './execution.ts'

/** Ends a run that was loaded and is not driven, with everything below it. */
export async function cancelLoaded(engine: Engine, execution: Execution): Promise<void> {
  const { tree, state } = execution
  const below = await openBelow(engine, execution)
  if (execution.replaying) execution.endReplay()
  if (!state.cancelRequested) tree.cancelRun(execution, { by: 'parent', reason: 'its branch was stopped' })
  for (const one of [...below.toReversed(), execution]) tree.cancelled(one)
}

async function openBelow(engine: Engine, execution: Execution): Promise<readonly Execution[]> {
  const { tree, definition, state } = execution
  const opened: Execution[] = []
  for (const run of state.children.values()) {
    if ((await engine.store.find(run))?.head.ended !== undefined) continue
    const child = tree.executions.get(run) ?? (await engine.openChild(tree, run, definition))
    opened.push(child, ...(await openBelow(engine, child)))
  }
  return opened
}

/** Ends the child that a run has open at a path which its code does not reach again, and says so in its journal. */
export async function endAbandoned(engine: Engine, parent: Execution, path: string, run: string): Promise<void> {
  let { state } = await engine.stored(run)
  if (state.end === undefined) {
    const child = await engine.openChild(parent.tree, run, parent.definition)
    await cancelLoaded(engine, child)
    state = child.state
  }
  if (parent.closed === undefined && parent.state.end === undefined)
    parent.append(endOf(state, { path, after: undefined }))
}
