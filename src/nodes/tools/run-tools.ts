/**
 * Running the tools that a model asks for. Each is a part of the run with its own steps: what has ended is not run again,
 * and has its policy and its share of the budget. Whatever goes wrong is told to the model, unless the tool's policy says
 * otherwise.
 */
import { describe } from '../../base/nerve-error.ts'
import type { Context, RunOptions } from '../../engine/definition.ts'
import { executionOf, isNode, runnableOf } from '../../engine/run-node.ts'
import { ask } from '../../engine/waits.ts'
import type { Tool } from './tool.ts'
import { failedResult, fitted, resultText, type ToolResult } from './tool-result.ts'

export interface ToolUse {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** True when what the model gave as its input was no JSON. */
  readonly unreadable?: boolean
}

export interface ToolSetting {
  /** Who uses them, for people: the id of the model node. */
  readonly user: string
  readonly tools: ReadonlyMap<string, Tool>
  readonly parallel: boolean
  readonly spillDir: string | undefined
}

const ALLOW = 'allow'
const DENY = 'deny'
const DENY_BECAUSE = 'deny and say why'

/** The results, in the order of the uses. */
export function runTools(ctx: Context, uses: readonly ToolUse[], setting: ToolSetting): Promise<readonly ToolResult[]> {
  return ctx.map(uses, (use) => runTool(ctx, use, setting), {
    label: 'tools',
    concurrency: setting.parallel ? Infinity : 1,
    key: (_use, index) => String(index + 1),
  })
}

async function runTool(ctx: Context, use: ToolUse, setting: ToolSetting): Promise<ToolResult> {
  const { tools } = setting
  const found = tools.get(use.name)
  if (found === undefined)
    return failedResult(`There is no tool '${use.name}'. There are: ${[...tools.keys()].join(', ') || 'none'}.`)
  if (use.unreadable === true) return failedResult(`The input of '${use.name}' is not JSON. Send it again.`)
  const checked = await found.input.check(use.input)
  if ('problems' in checked)
    return failedResult(
      `The input does not fit '${use.name}': ${checked.problems.join('; ')} Mend it and send it again.`,
    )
  const denied = await denial(ctx, found, { user: setting.user, input: checked.value })
  return denied ?? execute(ctx, found, { input: checked.value, spillDir: setting.spillDir })
}

interface Asking {
  readonly user: string
  readonly input: unknown
}

/** What the model is told when a person does not allow it. */
async function denial(
  ctx: Context,
  { name, approval }: Tool,
  { user, input }: Asking,
): Promise<ToolResult | undefined> {
  const needed =
    typeof approval === 'function'
      ? await ctx.step(`${name}~approval`, () => approval(input), { onError: 'fail' })
      : approval !== false
  if (!needed) return undefined
  const options = { label: `${name}~permission`, choices: [ALLOW, DENY, DENY_BECAUSE], detail: { tool: name, input } }
  const answer = await ask(executionOf(ctx), `May '${user}' use the tool '${name}'?`, options, 'permission')
  if (answer === ALLOW) return undefined
  const why =
    answer === DENY_BECAUSE
      ? describe(await ctx.ask(`Why may '${user}' not use the tool '${name}'?`, { label: `${name}~reason` }))
      : ''
  return failedResult(`The user did not allow this use of '${name}'.${why === '' ? '' : ` The reason: ${why}`}`)
}

interface Executing {
  readonly input: unknown
  readonly spillDir: string | undefined
}

async function execute(ctx: Context, one: Tool, { input, spillDir }: Executing): Promise<ToolResult> {
  const { name, policy, maxResult: most, toResult } = one
  const runs = runnableOf(ctx, one.runs)
  const fit = (text: string): Promise<ToolResult> => fitted(text, { most, spillDir })
  const shared = {
    label: name,
    onError: { fallback: (_call: unknown, error: unknown) => failedResult(error) },
    ...policy,
  } as RunOptions
  const given = one.toInput(input)
  // As a part of the step, so that the journal has what the model was given, and no more.
  if (isNode(runs))
    return resultOf(
      await ctx.run(runs, given, { ...shared, parser: (output: unknown) => fit(resultText(toResult(output))) }),
    )
  const result: unknown = await ctx.run(runs, given, {
    ...shared,
    parser: (output: unknown) => ({ text: resultText(toResult(output)) }),
  })
  const { text, failed } = resultOf(result)
  if (failed === true || text.length <= most) return { text, ...(failed === true ? { failed } : {}) }
  return ctx.step(`${name}~result`, () => fit(text), { onError: 'fail' })
}

/** What a policy of the tool puts in the place of a result is one as it is. */
function resultOf(value: unknown): ToolResult {
  const made = value as Partial<ToolResult> | null | undefined
  return typeof made?.text === 'string' ? (made as ToolResult) : { text: resultText(value) }
}
