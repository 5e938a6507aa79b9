/** Looking at a transcript as scripts do: who said what last, and how far the replies have come since. Pure. */
import type { ModelMessage, ModelRequest } from '../exchange.ts'
import type { TranscriptView } from './script.ts'

/** A place in the transcript where somebody asked for something. */
export interface UserTurn {
  readonly text: string
  /** False when it came beside tool results: then it is more likely a note of the agent than a new wish. */
  readonly alone: boolean
  /** Replies since. */
  readonly replies: number
}

/** What agents put into a user's message on their own. */
const NOTES = /<(system-reminder|environment_context|user_instructions)>[^]*?<\/\1>/g

/** The newest first, back to the last reply that called no tool: what was asked before that has had its answer. */
export function userTurns({ messages }: ModelRequest): UserTurn[] {
  const turns: UserTurn[] = []
  let replies = 0
  for (const message of messages.toReversed()) {
    if (message.role === 'system') continue
    if (message.role === 'assistant') {
      if (turns.length > 0 && !message.parts.some(({ type }) => type === 'tool-call')) break
      replies += 1
      continue
    }
    const text = textOf(message)
    if (text === '') continue
    turns.push({ text, alone: message.parts.every((part) => part.type !== 'tool-result'), replies })
  }
  return turns
}

export function viewOf(request: ModelRequest): TranscriptView {
  const turns = userTurns(request)
  const newest = turns.find(({ alone }) => alone) ?? turns[0]
  return { user: newest?.text ?? '', last: lastResult(request), step: newest?.replies ?? 0 }
}

export function lastResult({ messages }: ModelRequest): string {
  const newest = messages.findLast(({ parts }) => parts.some(({ type }) => type === 'tool-result'))
  const texts = (newest?.parts ?? []).flatMap((part) =>
    part.type === 'tool-result' ? part.parts.flatMap((one) => (one.type === 'text' ? [one.text] : [])) : [],
  )
  return texts.join('\n').trim()
}

function textOf({ parts }: ModelMessage): string {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return texts.join('\n').replace(NOTES, '').trim()
}
