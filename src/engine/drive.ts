/** Runs a definition's function over its journal, and writes how it ended. */
import { failpoint } from '../base/failpoint.ts'
import { errorData } from '../base/nerve-error.ts'
import { parseWith } from '../base/schema.ts'
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
    failpoint('finish-before')
    stopOpen(execution)
    execution.append(
      { type: 'run-completed', failures: execution.state.failures, ...(value === undefined ? {} : { output: value }) },
      () => execution.tree.ended(execution),
    )
  } catch (error) {
    await fail(execution, error)
  }
}

async function fail(execution: Execution, thrown: unknown): Promise<void> {
  if (!(await settle(execution, false))) return
  const path = execution.tree.blamed(thrown)
  const error = errorData(thrown)
  const told = path === undefined ? error : { ...error, data: { ...error.data, step: path } }
  failpoint('finish-before')
  stopOpen(execution)
  execution.append({ type: 'run-failed', error: told }, () => execution.tree.ended(execution))
}

/** Waits until what was returned (then patiently) or thrown may count. False when the run is over already, or was cancelled. */
async function settle(execution: Execution, patient: boolean): Promise<boolean> {
  const { tree } = execution
  tree.settledRuns.add(execution.run)
  if (execution.replayEnd !== undefined) await execution.replayEnd
  // Steps that the code started and did not wait for may end by themselves; nothing that began is lost silently.
  while (patient && isWorking(execution)) await execution.nextTick()
  if (execution.closed !== undefined) return false
  stopOpen(execution)
  if (!execution.state.cancelRequested) return true
  tree.cancelled(execution)
  return false
}

/** Stops what is open. What was about to start when the code ended may have started since, so it is done twice. */
function stopOpen(execution: Execution): void {
  const { stopped } = execution.root.scope
  for (const call of execution.calls) call.stop('end', stopped)
  for (const wait of [...execution.waits.values()]) wait.withdraw(stopped)
  execution.tree.endChildren(execution)
}

function isWorking(execution: Execution): boolean {
  if (execution.closed !== undefined || execution.state.cancelRequested) return false
  return execution.calls.size > 0 || isRetrying(execution)
}
