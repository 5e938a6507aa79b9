/** Keeping a conversation inside the window of its model: when it is filling up, the oldest part becomes a summary. */
import type { Context, StepCall } from '../../engine/definition.ts'
import { callFirst } from './call-model.ts'
import { estimateTokens, partsOf, textOf, userMessage, type ChatMessage } from './message.ts'
import type { ModelPlan } from './model-options.ts'

/** Makes what stands for the oldest messages: a summary, or messages. */
export type Compact = (
  messages: readonly ChatMessage[],
) => Promise<string | readonly ChatMessage[]> | string | readonly ChatMessage[]

export interface WindowWatch {
  /** The share of the window at which something is done. */
  readonly threshold: number
  readonly compact: 'auto' | 'off' | Compact
  /** How many of the last messages stay as they are. */
  readonly keep: number
}

/** What is said, and how many tokens the model took for it. Both change when it is compacted. */
export interface Said {
  readonly messages: ChatMessage[]
  tokens: number
  /** True when watchers were told in this turn that the window is filling up. */
  told?: boolean
}

const INSTRUCTIONS =
  'You summarise conversations so that they can go on without their beginning. Keep what was asked for, what was decided and why, ' +
  'facts, names, paths and numbers that may be needed, and what is still open. Leave out everything else. Write the summary and nothing else.'
const LONGEST_PART = 4_000

/** Before a call of the model: tells watchers when the window is filling up, and makes room. */
export async function keepInWindow(ctx: Context, plan: ModelPlan, said: Said, watch: WindowWatch): Promise<void> {
  const { contextWindow: window } = plan
  if (window === undefined || said.tokens < watch.threshold * window) return
  const { tokens } = said
  if (said.told !== true) ctx.emit('context-window', { node: plan.id, tokens, window, share: tokens / window })
  said.told = true
  const { compact } = watch
  const cut = cutOf(said.messages, watch.keep)
  if (compact === 'off' || cut === 0) return
  const old = said.messages.slice(0, cut)
  const make = async (call: StepCall): Promise<readonly ChatMessage[]> => {
    const made = compact === 'auto' ? await summary(plan, old, call) : await compact(old)
    return typeof made === 'string' ? [userMessage(call.key, `The conversation so far, in short:\n\n${made}`)] : made
  }
  const { attempts, timeout, backoff } = plan.policy
  const made = await ctx.step('compact', make, {
    ...(attempts === undefined ? {} : { attempts }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(backoff === undefined ? {} : { backoff }),
    // A conversation that is too long can still go on; one that is lost cannot.
    onError: { skip: old },
  })
  said.messages.splice(0, cut, ...made)
  said.tokens = estimateTokens(said.messages, plan.system)
}

/** How many of the oldest messages can go: what a tool gave stays with what asked for it. */
function cutOf(messages: readonly ChatMessage[], keep: number): number {
  let cut = Math.max(0, messages.length - keep)
  while (cut > 0 && messages[cut]?.role === 'tool') cut -= 1
  return cut < 2 ? 0 : cut
}

async function summary(plan: ModelPlan, old: readonly ChatMessage[], call: StepCall): Promise<string> {
  const text = old.map(transcript).join('\n\n')
  const asked = userMessage(call.key, `Summarise this conversation:\n\n${text}`)
  const request = {
    system: INSTRUCTIONS,
    messages: [asked],
    tools: new Map(),
    toolChoice: 'none',
    structured: false,
  } as const
  return textOf((await callFirst(plan, request, call)).message)
}

function transcript(message: ChatMessage): string {
  const parts = partsOf(message).map((part) => {
    const { type, text } = part
    if (type === 'text') return String(text)
    if (type === 'tool-call') return `(uses the tool ${String(part['toolName'])}: ${JSON.stringify(part['input'])})`
    if (type === 'tool-result') return `(${String(part['toolName'])} gave: ${JSON.stringify(part['output'])})`
    return `(${type})`
  })
  const whole = parts.join('\n')
  return `${message.role}: ${whole.length > LONGEST_PART ? `${whole.slice(0, LONGEST_PART)}…` : whole}`
}
