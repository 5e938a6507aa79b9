/** Who did what to a run, from its journal. Pure. */
import type { Actor, Budget, Entry, JournalEvent } from '../journal/events.ts'

export const AUDIT_ACTIONS = [
  'started',
  'forked',
  'answered',
  'signalled',
  'paused',
  'resumed',
  'interrupted',
  'cancelled',
  'budget-raised',
  'plan-accepted',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export interface AuditEntry extends Actor {
  /** `RUN:SEQUENCE`: the event that says so. */
  readonly id: string
  readonly time: number
  readonly run: string
  readonly definition: string
  readonly action: AuditAction
  /** What was answered: its id and what it asked. */
  readonly question?: string
  readonly prompt?: string
  /** The name of the signal. */
  readonly signal?: string
  /** The answer, or what came with the signal. */
  readonly value?: unknown
  /** The step that was interrupted. */
  readonly path?: string
  readonly reason?: string
  readonly budget?: Budget
  /** The run that was forked. */
  readonly from?: string
}

/** What people and programs did to one run, in order. What a run does to its children is not theirs. */
export function auditEntries(journal: readonly Entry[]): AuditEntry[] {
  const created = journal[0]?.event
  if (created?.type !== 'run-created') return []
  const { definition, parent, forkedFrom } = created
  // What a fork has taken over was done to the other run, and is told there.
  const inherited = 1 + (forkedFrom?.kept ?? 0)
  const prompts = new Map<string, string>()
  const found: AuditEntry[] = []
  for (const { run, seq, time, event } of journal) {
    if (event.type === 'question-asked') prompts.set(event.id, event.prompt)
    if (seq > 1 && seq <= inherited) continue
    const done = doneBy(event, { isChild: parent !== undefined, prompts })
    if (done !== undefined) found.push({ id: `${run}:${seq}`, time, run, definition, ...done, ...actorOf(event) })
  }
  return found
}

type Done = Omit<AuditEntry, 'id' | 'time' | 'run' | 'definition' | keyof Actor>

interface Around {
  readonly isChild: boolean
  readonly prompts: ReadonlyMap<string, string>
}

function doneBy(event: JournalEvent, { isChild, prompts }: Around): Done | undefined {
  switch (event.type) {
    case 'run-created':
      if (isChild) return undefined
      return event.forkedFrom === undefined ? { action: 'started' } : { action: 'forked', from: event.forkedFrom.run }
    case 'question-answered': {
      const prompt = prompts.get(event.id)
      const asked = prompt === undefined ? {} : { prompt }
      return { action: 'answered', question: event.id, ...asked, ...valueOf(event) }
    }
    case 'signal-received':
      return { action: 'signalled', signal: event.name, ...valueOf(event) }
    case 'run-paused':
      return event.reason === 'diverged' ? undefined : { action: 'paused' }
    case 'run-resumed':
      // A tree is resumed as a whole, and its root says so.
      return isChild ? undefined : { action: 'resumed' }
    case 'interrupt-requested':
      return { action: 'interrupted', ...(event.path === undefined ? {} : { path: event.path }) }
    case 'cancel-requested':
      if (event.by === 'parent' && event.via === undefined) return undefined
      return { action: 'cancelled', ...(event.reason === undefined ? {} : { reason: event.reason }) }
    case 'budget-raised':
      return { action: 'budget-raised', budget: event.budget }
    case 'plan-accepted':
      return { action: 'plan-accepted' }
    default:
      return undefined
  }
}

function valueOf({ value }: { readonly value?: unknown }): { readonly value?: unknown } {
  return value === undefined ? {} : { value }
}

function actorOf(event: JournalEvent): Actor {
  const { by, via } = event as Actor
  return { ...(by === undefined ? {} : { by }), ...(via === undefined ? {} : { via }) }
}
