/** The parts of one turn on their way from an adapter to whoever drives it. It ends with the first `turn-end`. */
import type { AgentPart, AgentTurnEnd, TurnEnd } from './adapter.ts'
import { Queue } from './queue.ts'

export class PartQueue extends Queue<AgentPart> {
  /** The last that the agent said, so far. */
  text = ''

  override push(part: AgentPart): void {
    super.push(part)
    if (part.type === 'turn-end') this.close()
  }

  end(reason: TurnEnd, more: Partial<AgentTurnEnd> = {}): void {
    this.push({ text: this.text, ...more, type: 'turn-end', reason })
  }

  /** The end of a turn that an error has ended: what it says is often all that tells one from another. */
  fail(error: string, reason: TurnEnd = reasonOf(error)): void {
    this.end(reason, { error })
  }

  toolEnd(id: string, ok: boolean, output: unknown = ''): void {
    this.push({ type: 'tool-end', id, ok, output: typeof output === 'string' ? output : JSON.stringify(output) })
  }
}

function reasonOf(error: string): TurnEnd {
  if (/too long|context.?(window|length)/i.test(error)) return 'context-full'
  return /\b429\b|rate.?limit|quota|too many requests/i.test(error) ? 'rate-limited' : 'error'
}
