import { NerveError } from '../base/nerve-error.ts'
import type { Schema, Unparsed } from '../base/schema.ts'
import type { Context, Definition, WorkflowOptions } from '../engine/definition.ts'
import { isLabel } from '../engine/scope.ts'

type Run<Input, Output> = (ctx: Context<Input>, input: Input) => Promise<Output> | Output

/**
 * A workflow: a plain async function whose durable calls go through `ctx`.
 *
 * ```ts
 * import { workflow } from 'nerve'
 *
 * export default workflow('greet', async (ctx, input: { name: string }) => {
 *   const text = await ctx.step('write', () => `Hello ${input.name}`)
 *   return { text, at: ctx.now() }
 * })
 * ```
 */
export function workflow<Input, Output>(name: string, run: Run<Input, Output>): Definition<Input, Output>
export function workflow<Input, Output, Given>(
  name: string,
  options: WorkflowOptions<Input, Output> & { readonly input: Schema<Input, Given> },
  run: Run<Input, Output>,
): Definition<Unparsed<Input, Given>, Output>
export function workflow<Input, Output>(
  name: string,
  options: WorkflowOptions<Input, Output>,
  run: Run<Input, Output>,
): Definition<Input, Output>
export function workflow<Input, Output>(
  name: string,
  first: WorkflowOptions<Input, Output> | Run<Input, Output>,
  second?: Run<Input, Output>,
): Definition<Input, Output> {
  const run = typeof first === 'function' ? first : second
  const options = typeof first === 'function' ? {} : first
  if (!isLabel(name))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(name)} is not a name for a workflow. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  if (typeof run !== 'function')
    throw new NerveError(
      'bad-definition',
      `Workflow '${name}' has no function: workflow(name, options?, async (ctx, input) => …).`,
    )
  checkOptions(name, options)
  return Object.freeze({ kind: 'workflow', name, options, run })
}

export const WORKFLOW_OPTIONS: readonly string[] = [
  'description',
  'input',
  'output',
  'params',
  'budget',
  'errorPolicy',
  'durability',
]

function checkOptions<Input, Output>(name: string, options: WorkflowOptions<Input, Output>): void {
  if (typeof options !== 'object' || options === null)
    throw new NerveError('bad-definition', `The options of workflow '${name}' are not an object.`)
  const unknown = Object.keys(options).filter((key) => !WORKFLOW_OPTIONS.includes(key))
  if (unknown.length > 0)
    throw new NerveError(
      'bad-definition',
      `Workflow '${name}' has unknown options: ${unknown.join(', ')}. Known: ${WORKFLOW_OPTIONS.join(', ')}.`,
    )
  const { errorPolicy, durability } = options
  if (errorPolicy !== undefined && !['stop', 'skip', 'continue'].includes(errorPolicy)) {
    throw new NerveError(
      'bad-definition',
      `Workflow '${name}': errorPolicy is ${JSON.stringify(errorPolicy)}; give 'stop', 'skip' or 'continue'.`,
    )
  }
  if (durability !== undefined && !['process', 'power'].includes(durability)) {
    throw new NerveError(
      'bad-definition',
      `Workflow '${name}': durability is ${JSON.stringify(durability)}; give 'process' or 'power'.`,
    )
  }
}
