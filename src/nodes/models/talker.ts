/** The turns of a chat, and the persistent node that stands for its conversation in graphs and sessions. */
import { NerveError } from '../../base/nerve-error.ts'
import type { Context, Node, NodeInfo, StepCall } from '../../engine/definition.ts'
import { keepInWindow, type Said, type WindowWatch } from './compaction.ts'
import type { Conversation, Turn, TurnStart } from './conversation.ts'
import { placeOf, userMessage, type ChatMessage, type ModelReply, type Prompt } from './message.ts'
import type { ModelPlan } from './model-options.ts'
import { converse, type CallStep } from './rounds.ts'

/** What a copy began with. */
export interface Origin {
  readonly messages: readonly ChatMessage[]
  readonly forkedFrom: string
  readonly forkedAt: number
}

interface TalkerParts {
  readonly conversation: Conversation
  readonly watch: WindowWatch
  readonly origin: Origin | undefined
}

type ModelCall = (call: StepCall) => Promise<ModelReply>

export class Talker {
  /** Calls of the model are steps of this node: it does one thing at a time, is in sessions, and has a history. */
  readonly node: Node<object, ModelReply>
  readonly #plan: ModelPlan
  readonly #conversation: Conversation
  readonly #watch: WindowWatch
  /** What is new to the model is the input of a step; the whole conversation is not, or journals would grow with its square. */
  readonly #calls = new WeakMap<object, ModelCall>()

  constructor(plan: ModelPlan, { conversation, watch, origin }: TalkerParts) {
    this.#plan = plan
    this.#conversation = conversation
    this.#watch = watch
    const id = `${plan.id}.conversation`
    const info: NodeInfo = {
      id,
      kind: 'conversation',
      persistent: true,
      description: `What ${plan.what} remembers.`,
      abilities: ['start', 'reset'],
      ...(origin === undefined ? {} : { forkedFrom: `${origin.forkedFrom}.conversation` }),
    }
    this.node = {
      id,
      kind: info.kind,
      persistent: true,
      execute: (input, call) => this.#execute(input, call),
      start: () => conversation.ready(),
      reset: () => conversation.clear(),
      info: () => info,
    }
  }

  /** One turn: what is said to the model, and what it answers. */
  async turn(ctx: Context, prompt: Prompt): Promise<unknown> {
    const conversation = this.#conversation
    const turn = conversation.turn(ctx)
    const start = await ctx.step('conversation', ({ signal }) => conversation.enter(turn, signal), { onError: 'fail' })
    conversation.begin(turn)
    try {
      const answer = await this.#talk(ctx, prompt, { turn, start })
      if (conversation.kept) await ctx.step('save', () => conversation.keep(), { onError: 'fail' })
      return answer
    } finally {
      conversation.end(turn)
    }
  }

  async #talk(ctx: Context, prompt: Prompt, { turn, start }: { turn: Turn; start: TurnStart }): Promise<unknown> {
    const plan = this.#plan
    const said: Said = this.#conversation.at(turn, start)
    const { messages } = said
    const asked = userMessage(placeOf(ctx), prompt)
    messages.push(asked)
    let at = 0
    const answer = await converse(ctx, {
      plan,
      messages,
      step: (run, options) => this.#step(ctx, run, options),
      before: () => keepInWindow(ctx, plan, said, this.#watch),
      heard: (reply) => {
        said.tokens = reply.usage.input + reply.usage.output
        at = reply.at
      },
    })
    // A turn that was compacted in its middle has no beginning left.
    const own = messages.slice(Math.max(0, messages.indexOf(asked)))
    this.#conversation.add(turn, { from: start.at, messages, tokens: said.tokens, at, said: own })
    return answer
  }

  #step: (ctx: Context, ...given: Parameters<CallStep>) => Promise<ModelReply> = (ctx, run, { input, ...options }) => {
    this.#calls.set(input as object, run)
    return ctx.run(this.node, input as object, options)
  }

  #execute(input: object, call: StepCall): Promise<ModelReply> {
    const run = this.#calls.get(input)
    if (run !== undefined) return run(call)
    const { id, what } = this.#plan
    throw new NerveError('bad-input', `'${id}.conversation' is what ${what} remembers. Run or send to '${id}' itself.`)
  }
}
