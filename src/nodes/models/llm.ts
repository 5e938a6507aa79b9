import type { Definition, Names, Outline } from '../../engine/definition.ts'
import { forkNodes } from '../../engine/fork-nodes.ts'
import { isDefinition } from '../../engine/run-node.ts'
import type { Tool } from '../tools/tool.ts'
import { checkPrompt, placeOf, userMessage, type Prompt } from './message.ts'
import { modelName, planOf, type Model, type ModelNodeOptions, type ModelPlan } from './model-options.ts'
import { converse } from './rounds.ts'

export interface LlmOptions<Input = Prompt, Value = string> extends ModelNodeOptions<Input, Value> {}

/**
 * Asks a model, with its tools, and gives the answer: text, or what the schema makes of it. It keeps nothing: each use is
 * a conversation of its own.
 *
 * ```ts
 * import { llm } from 'nerve/models'
 *
 * export const summary = llm('summary', { model: 'anthropic:claude-sonnet-5', system: 'Answer in one sentence.' })
 * ```
 */
export function llm<Value = string, Input = Prompt>(
  id: string,
  options: LlmOptions<Input, Value>,
): Definition<Input, Value> {
  const plan = planOf('llm', id, options)
  return {
    kind: 'llm',
    name: id,
    options: options.description === undefined ? {} : { description: options.description },
    ...toolParts('llm', plan),
    fork: (name) => llm<Value, Input>(name, { ...options, ...copiedTools(options.tools, name) }),
    async run(ctx, input) {
      const prompt = promptOf(plan, options, input)
      const answer = await converse(ctx, {
        plan,
        messages: [userMessage(placeOf(ctx), prompt)],
        step: (run, { label = 'model', ...how }) => ctx.step(label, run, how),
      })
      return answer as Value
    },
  }
}

export function promptOf<Input>(
  { what }: ModelPlan,
  { prompt }: Pick<ModelNodeOptions<Input>, 'prompt'>,
  input: Input,
): Prompt {
  return checkPrompt(what, prompt === undefined ? input : prompt(input))
}

/** What a definition with tools says about them. */
export function toolParts(
  kind: string,
  { id, models, tools }: ModelPlan,
): Required<Pick<Definition, 'check' | 'outline' | 'inner'>> {
  const all = [...tools.values()]
  return {
    inner: () => all.map(({ runs }) => runs),
    check: (names) => all.flatMap((one) => checkTool(one, names)),
    outline: () => ({
      id,
      kind,
      note: modelName(models[0] as Model),
      ...(all.length === 0 ? {} : { parts: all.map(outlineTool) }),
    }),
  }
}

/** A copy has copies of the persistent nodes that its tools run. */
export function copiedTools(tools: readonly Tool[] | undefined, name: string): { readonly tools?: readonly Tool[] } {
  if (tools === undefined) return {}
  const copies = forkNodes(
    tools.map(({ runs }) => runs),
    name,
  )
  return { tools: tools.map((one) => ({ ...one, runs: copies.get(one.runs) ?? one.runs })) }
}

function checkTool({ name, runs }: Tool, names: Names): readonly string[] {
  if (typeof runs === 'string')
    return names.get(runs) === undefined
      ? [`the tool '${name}' refers to the node '${runs}', which is not known here.`]
      : []
  const problems = isDefinition(runs) ? (runs.check?.(names) ?? []) : []
  return problems.map((problem) => `in the tool '${name}': ${problem}`)
}

function outlineTool({ name, runs }: Tool): Outline {
  return { id: name, kind: 'tool', note: typeof runs === 'string' ? runs : runs.kind }
}
