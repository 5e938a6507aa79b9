import type { Definition } from '../../engine/definition.ts'
import type { Compact, WindowWatch } from './compaction.ts'
import { Conversation } from './conversation.ts'
import { copiedTools, promptOf, toolParts } from './llm.ts'
import type { ChatMessage, Prompt } from './message.ts'
import { OPTIONS, modelName, planOf, wrong, type Model, type ModelNodeOptions } from './model-options.ts'
import { Talker, type Origin } from './talker.ts'

export interface ChatOptions<Input = Prompt, Value = string> extends ModelNodeOptions<Input, Value> {
  /** Where the conversation is kept, also when the process has ended (default: nowhere). */
  readonly file?: string
  /** The share of `contextWindow` at which the oldest messages become a summary (default 0.6). */
  readonly threshold?: number
  /** Who makes that summary: the model (`auto`, default), nobody (`off`), or a function. */
  readonly compact?: 'auto' | 'off' | Compact
  /** How many of the last messages stay as they are (default 8). */
  readonly keepMessages?: number
}

export interface ChatForkOptions {
  /** Only the first messages: so many, or up to the one with this id. */
  readonly at?: number | string
}

export interface ChatInfo {
  readonly id: string
  readonly model: string
  readonly messages: number
  /** How many tokens the model took for it the last time. */
  readonly tokens: number
  /** True in the middle of a turn. */
  readonly busy: boolean
  readonly forkedFrom?: string
  readonly forkedAt?: number
  /** How many messages were copied. */
  readonly forkedMessages?: number
}

/** A conversation with a model. Each use is a turn: it goes on where the last one ended, whichever run that was in. */
export interface Chat<Input = Prompt, Value = string> extends Definition<Input, Value> {
  /** What was said so far. */
  readonly messages: readonly ChatMessage[]
  /** Forgets what was said. */
  clear(): void
  /** Writes the conversation to a file. */
  save(file: string): Promise<void>
  /** Goes on with the conversation in a file, in the place of this one. */
  load(file: string): Promise<void>
  /** A copy under another name that goes its own way from here, or from an earlier message. */
  fork(name: string, options?: ChatForkOptions): Chat<Input, Value>
  info(): ChatInfo
}

const OWN = ['file', 'threshold', 'compact', 'keepMessages'] as const

/**
 * A conversation with a model. It does one thing at a time, remembers what was said, and can be forked.
 *
 * ```ts
 * import { chat } from 'nerve/models'
 *
 * export const helper = chat('helper', { model: 'anthropic:claude-sonnet-5', contextWindow: 200_000 })
 * ```
 */
export function chat<Value = string, Input = Prompt>(
  id: string,
  options: ChatOptions<Input, Value>,
): Chat<Input, Value> {
  return makeChat(id, options)
}

function makeChat<Input, Value>(id: string, options: ChatOptions<Input, Value>, origin?: Origin): Chat<Input, Value> {
  const plan = planOf('chat', id, options, [...OPTIONS, ...OWN])
  const conversation = new Conversation(id, options.file, origin?.messages)
  const talker = new Talker(plan, { conversation, watch: watchOf(plan.what, options), origin })
  const parts = toolParts('chat', plan)
  return {
    kind: 'chat',
    name: id,
    options: options.description === undefined ? {} : { description: options.description },
    ...parts,
    inner: () => [talker.node, ...parts.inner()],
    run: async (ctx, input) => (await talker.turn(ctx, promptOf(plan, options, input))) as Value,
    get messages() {
      return conversation.now.messages
    },
    clear: () => conversation.clear(),
    save: (file) => conversation.save(file),
    load: (file) => conversation.load(file),
    fork(name, { at } = {}) {
      const messages = conversation.copy(at)
      // Two conversations cannot be kept in one file.
      const { file: _file, ...shared } = options
      const copy = { ...shared, ...copiedTools(options.tools, name) }
      return makeChat(name, copy, { messages, forkedFrom: id, forkedAt: Date.now() })
    },
    info: () => ({
      id,
      model: modelName(plan.models[0] as Model),
      messages: conversation.now.messages.length,
      tokens: conversation.now.tokens,
      busy: conversation.busy,
      ...(origin === undefined
        ? {}
        : { forkedFrom: origin.forkedFrom, forkedAt: origin.forkedAt, forkedMessages: origin.messages.length }),
    }),
  }
}

function watchOf(what: string, options: Pick<ChatOptions, 'threshold' | 'compact' | 'keepMessages'>): WindowWatch {
  const { threshold = 0.6, compact = 'auto', keepMessages: keep = 8 } = options
  if (!(threshold > 0 && threshold <= 1))
    throw wrong(what, `threshold is ${threshold}; give a share of 1, such as 0.6.`)
  if (compact !== 'auto' && compact !== 'off' && typeof compact !== 'function')
    throw wrong(what, `compact is ${JSON.stringify(compact)}; give 'auto', 'off' or a function.`)
  if (!Number.isSafeInteger(keep) || keep < 1) throw wrong(what, `keepMessages is ${keep}; give a whole number from 1.`)
  return { threshold, compact, keep }
}
