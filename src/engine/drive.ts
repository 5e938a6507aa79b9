/** Runs a definition's function over its journal, and writes how it ended. */
import { failpoint } from '../base/failpoint.ts'
import { errorData } from '../base/nerve-error.ts'
import { parseWith } from '../base/schema.ts'
import type { JournalEvent } from '../journal/events.ts'
import type { ChildStarter } from './child.ts'
import { createContext } from './context.ts'
import type { Execution } from './execution.ts'
import { here } from './scope.ts'
import { isRetrying } from './tree.ts'

export function drive(execution: Execution, children: ChildStarter): void {
  const { definition, state } = execution
  const context = createContext(execution, children)
  const start = (): unknown => definition.run(context, state.input)
  const result = new Promise((resolve) => resolve(here.run(execution.root, start)))
  const ended = result.then(
    (output) => complete(execution, output),
    (error: unknown) => fail(execution, error),
  )
  // Appends refuse only when the run is closed; then there is nobody to tell.
  ended.catch(() => undefined)
}

async function complete(execution: Execution, output: unknown): Promise<void> {
  if (!(await settle(execution, true))) return
  const schema = execution.definition.options.output
  try {
    const value: unknown =
      schema === undefined
        ? output
        : await parseWith(schema, output, { code: 'bad-output', what: `The output of '${execution.definition.name}'` })
    const { failures } = execution.state
    end(execution, { type: 'run-completed', failures, ...(value === undefined ? {} : { output: value }) })
  } catch (error) {
    await fail(execution, error)
  }
}

async function fail(execution: Execution, thrown: unknown): Promise<void> {
  if (!(await settle(execution, false))) return
  const path = execution.tree.blamed(thrown)
  const error = errorData(thrown)
  const told = path === undefined ? error : { ...error, data: { ...error.data, step: path } }
  end(execution, { type: 'run-failed', error: told })
}

/** The end of a run, in one commit with that of its children. */
function end(execution: Execution, event: JournalEvent): void {
  // While a schema looked at the output, there may have been a cancel.
  if (execution.state.cancelRequested) return execution.tree.cancelled(execution)
  failpoint('finish-before')
  stopOpen(execution)
  execution.tree.endChildren(execution)
  execution.append(event, () => execution.tree.ended(execution))
}

/** Waits until what was returned (then patiently) or thrown may count. False when the run is over already, or was cancelled. */
async function settle(execution: Execution, patient: boolean): Promise<boolean> {
  const { tree } = execution
  execution.settled = true
  if (execution.replayEnd !== undefined) await execution.replayEnd
  // Steps that the code started and did not wait for may end by themselves; nothing that began is lost silently.
  while (patient && isWorking(execution)) await execution.nextTick()
  if (execution.closed !== undefined) return false
  execution.finish()
  await comeToEnd(execution)
  if (execution.closed !== undefined) return false
  if (!execution.state.cancelRequested) return true
  tree.cancelled(execution)
  return false
}

/** Stops what is open, and waits until functions that were stopped, here and below, have said what they spent. */
async function comeToEnd(execution: Execution): Promise<void> {
  for (;;) {
    stopOpen(execution)
    const busy = stillBusy(execution)
    if (busy === undefined) return
    await (busy.opening.size > 0 ? Promise.allSettled(busy.opening) : busy.nextTick())
  }
}

/** The first run, of this one and those below it, in which a function runs or a child is being read. */
function stillBusy(execution: Execution): Execution | undefined {
  if (execution.closed !== undefined) return undefined
  if (execution.opening.size > 0 || execution.calls.size > 0) return execution
  for (const child of execution.children.values()) {
    const busy = stillBusy(child)
    if (busy !== undefined) return busy
  }
  return undefined
}

/** What was about to start when the code ended may have started since, so this is done more than once. */
function stopOpen(execution: Execution): void {
  const { stopped } = execution.root.scope
  for (const call of execution.calls) call.stop('end', stopped)
  for (const wait of [...execution.waits.values()]) wait.withdraw(stopped)
  execution.tree.cancelChildren(execution)
}

function isWorking(execution: Execution): boolean {
  if (execution.closed !== undefined || execution.state.cancelRequested) return false
  return execution.calls.size > 0 || isRetrying(execution)
}
