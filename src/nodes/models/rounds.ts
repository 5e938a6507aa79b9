/**
 * The loop of a model node: the model is called, the tools that it asks for are run, and it is called again with what they
 * gave, until it answers. Each call and each use of a tool is a step, so a replay comes to the same messages.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { Context, RunOptions, StepCall } from '../../engine/definition.ts'
import { runTools } from '../tools/run-tools.ts'
import { callFirst, callOthers, type ModelRequest } from './call-model.ts'
import { placeOf, requestsOf, textOf, userMessage, type ChatMessage, type ModelReply } from './message.ts'
import { modelName, type Model, type ModelPlan } from './model-options.ts'

/** One step that calls the model. `run` is its function, `options` say how it is run. */
export type CallStep = (
  run: (call: StepCall) => Promise<ModelReply>,
  options: RunOptions<ModelReply> & { readonly input: unknown },
) => Promise<ModelReply>

export interface Talk {
  readonly plan: ModelPlan
  /** What is said so far; the last is the user's. What is said from now on is added. */
  readonly messages: ChatMessage[]
  readonly step: CallStep
  /** Called before each call of the model. */
  readonly before?: () => Promise<void>
  readonly heard?: (reply: ModelReply) => void
}

/** The answer: text, or what the schema makes of it. */
export async function converse(ctx: Context, talk: Talk): Promise<unknown> {
  const { plan, messages } = talk
  let asked = 0
  let used = 0
  for (;;) {
    await talk.before?.()
    const reply = await callOnce(ctx, talk, { used, first: used + asked === 0 })
    messages.push(reply.message)
    talk.heard?.(reply)
    const uses = requestsOf(reply.message)
    if (uses.length > 0) {
      if (used >= plan.rounds) throw endless(plan)
      used += 1
      messages.push(await useTools(ctx, talk, reply))
      continue
    }
    const text = answerText(plan, reply)
    if (plan.answer === undefined) return text
    const read = await readAnswer(plan, text)
    if ('value' in read) return read.value
    if (asked >= plan.reasks) throw unfit(plan, read.problems, text)
    asked += 1
    messages.push(userMessage(`${placeOf(ctx)}/again-${asked}`, askAgain(read.problems)))
  }
}

interface Round {
  /** How often tools were used before. */
  readonly used: number
  readonly first: boolean
}

async function callOnce(ctx: Context, { plan, messages, step }: Talk, { used, first }: Round): Promise<ModelReply> {
  const last = used >= plan.rounds
  if (last) ctx.emit('limit-reached', { node: plan.id, iterations: plan.rounds })
  const request: ModelRequest = {
    system: systemOf(plan),
    messages: [...messages],
    tools: plan.tools,
    toolChoice: last ? 'none' : first || plan.toolChoice === 'none' ? plan.toolChoice : 'auto',
    structured: plan.answer !== undefined,
  }
  const input = unsaid(messages)
  return step((call) => callFirst(plan, request, call), {
    // What tools gave is in the journal already.
    recordInput: input.some(({ role }) => role === 'user'),
    ...plan.policy,
    label: 'model',
    input,
    onError: plan.models.length > 1 ? { fallback: (call, error) => callOthers(plan, request, call, error) } : 'fail',
  })
}

/** Not every provider can be told a schema in another way. */
function systemOf({ system, answer }: ModelPlan): string | undefined {
  if (answer === undefined) return system
  const form = `Answer with JSON and nothing else. It has to fit this JSON Schema: ${JSON.stringify(answer.json)}`
  return system === undefined ? form : `${system}\n\n${form}`
}

/** What the model has not seen yet. */
function unsaid(messages: readonly ChatMessage[]): readonly Pick<ChatMessage, 'role' | 'content'>[] {
  const from = messages.findLastIndex(({ role }) => role === 'assistant') + 1
  return messages.slice(from).map(({ role, content }) => ({ role, content }))
}

async function useTools(ctx: Context, { plan, messages }: Talk, reply: ModelReply): Promise<ChatMessage> {
  const uses = requestsOf(reply.message)
  const results = await runTools(
    ctx,
    uses.map((use) => ({ ...use, unreadable: reply.unreadable?.includes(use.id) ?? false })),
    { user: plan.id, tools: plan.tools, parallel: plan.parallelTools, spillDir: plan.spillDir },
  )
  const content = uses.map(({ id, name }, at) => {
    const { text = '', failed } = results[at] ?? {}
    const output = { type: failed === true ? 'error-text' : 'text', value: text }
    return { type: 'tool-result', toolCallId: id, toolName: name, output }
  })
  return { id: `${placeOf(ctx)}/results-${messages.length}`, role: 'tool', content }
}

function answerText({ what, cut, models }: ModelPlan, { message, finish }: ModelReply): string {
  const text = textOf(message)
  if (finish === 'content-filter')
    throw new NerveError('model-failed', `${modelName(models[0] as Model)} refused to answer ${what}.`, {
      data: { finish, text },
    })
  if (finish === 'length' && cut === 'fail')
    throw new NerveError(
      'model-failed',
      `The answer to ${what} was cut off. Raise maxOutputTokens, or say that a part of it will do: cut: 'keep'.`,
      { data: { finish, text } },
    )
  return text
}

async function readAnswer(
  { answer }: ModelPlan,
  text: string,
): Promise<{ readonly value: unknown } | { readonly problems: readonly string[] }> {
  // Some models put JSON into a block of code, whatever they are told.
  const json = /^\s*```(?:json)?\s*\n([^]*?)\n?```\s*$/.exec(text)?.[1] ?? text
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return { problems: ['it is not JSON.'] }
  }
  return (await answer?.check(value)) ?? { value }
}

function askAgain(problems: readonly string[]): string {
  return `Your answer cannot be used: ${problems.join('; ')} Answer again, with JSON that fits and nothing else.`
}

function unfit({ what, reasks }: ModelPlan, problems: readonly string[], text: string): NerveError {
  return new NerveError(
    'bad-output',
    `The answer to ${what} does not fit its schema, and ${reasks} further tries did not help: ${problems.join('; ')}`,
    { data: { problems, text: text.slice(0, 2_000) } },
  )
}

function endless({ what, rounds }: ModelPlan): NerveError {
  return new NerveError(
    'limit-reached',
    `${what} used tools ${rounds} times, was told to answer, and asked for more. Raise rounds, or say less in its tools.`,
    { data: { rounds } },
  )
}
