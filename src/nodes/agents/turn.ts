/** One turn of an agent, as a step sees it: parts to watchers, usage to the budget. */
import { NerveError } from '../../base/nerve-error.ts'
import type { StepCall } from '../../engine/definition.ts'
import type { AgentPart, AgentSession, AgentTurnEnd, AgentUsage } from './adapter.ts'

type TurnCall = Pick<StepCall, 'signal' | 'emit'>

/** How long an agent may take to end its turn after it was interrupted. */
const INTERRUPT_PATIENCE_MS = 5_000

/** Drives a turn to its end. When the call is stopped, the agent is interrupted, and what it did counts. */
export async function driveTurn(
  session: AgentSession,
  parts: AsyncIterable<AgentPart>,
  call: TurnCall,
  spend: (usage: AgentUsage) => void,
): Promise<AgentTurnEnd> {
  const stop = Promise.withResolvers<never>()
  stop.promise.catch(() => undefined)
  let late: NodeJS.Timeout | undefined
  const interrupt = (): void => {
    late = setTimeout(() => stop.reject(call.signal.reason), INTERRUPT_PATIENCE_MS)
    session.interrupt().catch(stop.reject)
  }
  if (call.signal.aborted) interrupt()
  call.signal.addEventListener('abort', interrupt, { once: true })
  try {
    return await Promise.race([lastOf(parts, call, spend), stop.promise])
  } finally {
    clearTimeout(late)
    call.signal.removeEventListener('abort', interrupt)
  }
}

async function lastOf(
  parts: AsyncIterable<AgentPart>,
  call: TurnCall,
  spend: (usage: AgentUsage) => void,
): Promise<AgentTurnEnd> {
  for await (const part of parts) {
    const { type, ...data } = part
    if (part.type === 'usage') spend(part.usage)
    else call.emit(LIVE[part.type] ?? type, part.type === 'text' || part.type === 'thinking' ? part.text : data)
    if (part.type === 'turn-end') return part
  }
  throw new NerveError('agent-failed', 'The agent stopped in the middle of its turn.', { retry: 'later' })
}

const LIVE: Partial<Record<AgentPart['type'], string>> = { text: 'text-delta', thinking: 'thinking-delta' }

/** What a turn that did not end well means for its step. */
export function turnError(node: string, end: AgentTurnEnd): NerveError {
  const { reason, error = '', retryAt } = end
  const said = error === '' ? '' : `: ${error}`
  if (reason === 'rate-limited' && retryAt !== undefined)
    return new NerveError('quota', `Agent '${node}' has to wait until ${new Date(retryAt).toISOString()}${said}`, {
      retry: 'pause',
      data: { node, until: retryAt },
    })
  if (reason === 'interrupted')
    return new NerveError('interrupted', `Agent '${node}' was interrupted${said}`, { retry: 'later' })
  return new NerveError('agent-failed', `Agent '${node}' ${MEANING[reason] ?? 'failed'}${said}`, {
    retry: reason === 'limit' || reason === 'context-full' ? 'never' : 'later',
    data: { node, reason },
  })
}

const MEANING: Partial<Record<AgentTurnEnd['reason'], string>> = {
  limit: 'reached a limit of its own',
  'rate-limited': 'has asked its model too often',
  'context-full': 'has no room left in its context window',
}
