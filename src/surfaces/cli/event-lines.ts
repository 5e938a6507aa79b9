/** Events as lines for people. Pure. */
import { showDuration } from '../../base/duration.ts'
import { errorText, withoutStack, type ErrorData } from '../../base/nerve-error.ts'
import type { RunEvent } from '../../host/api.ts'
import type { Actor, Usage } from '../../journal/events.ts'
import { brief, oneLine } from './printable.ts'

/** `12:04:31  step-completed     write  1.2s`. */
export function eventLine(event: RunEvent): string {
  const path = 'path' in event && event.path !== undefined ? `${oneLine(event.path)}  ` : ''
  return `${clockTime(event.time)}  ${event.type.padEnd(17)}  ${path}${detailOf(event)}`.replaceAll('\n', ' ').trimEnd()
}

/** Events that say nothing to somebody who watches a run. */
export function isNoise(event: RunEvent): boolean {
  return event.type === 'value-recorded' || (event.type === 'step-completed' && event.kind === 'item')
}

function clockTime(time: number): string {
  return new Date(time).toTimeString().slice(0, 8)
}

/** An event as it goes out with --json. */
export function eventData(event: RunEvent, verbose: boolean): unknown {
  if (verbose || !('error' in event) || event.error === undefined) return event
  return { ...event, error: withoutStack(event.error) }
}

function detailOf(event: RunEvent): string {
  switch (event.type) {
    case 'run-created':
      return joined(event.definition, event.input === undefined ? '' : `input ${brief(event.input, 60)}`)
    case 'scope-opened':
      return event.node ?? `${event.kind} of ${event.size}`
    case 'race-decided':
      return `branch ${event.winner} won`
    case 'step-started':
    case 'step-completed':
    case 'step-failed':
    case 'step-skipped':
    case 'step-stopped':
      return stepDetail(event)
    case 'step-kept':
    case 'value-recorded':
      return brief(event.value)
    case 'question-asked':
    case 'question-answered':
    case 'question-expired':
    case 'question-withdrawn':
      return questionDetail(event)
    case 'child-started':
      return `${event.definition} ${event.child}`
    case 'child-ended':
      return joined(`${event.status} ${event.child}`, errorLine(event.error), usageText(event.usage))
    case 'emitted':
    case 'checkpoint-recorded':
      return joined(event.name, event.data === undefined ? '' : brief(event.data))
    case 'timer-set':
    case 'timer-fired':
    case 'signal-received':
    case 'wait-started':
    case 'signal-taken':
    case 'wait-expired':
    case 'wait-withdrawn':
    case 'messages-taken':
      return waitDetail(event)
    default:
      return runDetail(event)
  }
}

type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>

function stepDetail(
  event: Of<'step-started' | 'step-completed' | 'step-failed' | 'step-skipped' | 'step-stopped'>,
): string {
  switch (event.type) {
    case 'step-started':
      return joined(
        event.attempt > 1 ? `attempt ${event.attempt}` : '',
        event.node === undefined ? '' : `${event.node.kind} ${event.node.id}`,
        event.input === undefined ? '' : brief(event.input),
      )
    case 'step-completed':
      return joined(spentTime(event), usageText(event.usage), event.attempt > 1 ? `attempt ${event.attempt}` : '')
    case 'step-failed': {
      const next = event.retryAt === undefined ? '' : `again in ${showDuration(event.retryAt - event.time)}`
      return joined(`attempt ${event.attempt}: ${errorLine(event.error)}`, next, usageText(event.usage))
    }
    case 'step-skipped':
      return errorLine(event.error)
    default: {
      const until = event.until === undefined ? '' : `again in ${showDuration(event.until - event.time)}`
      return joined(event.reason, until, errorLine(event.error))
    }
  }
}

function questionDetail(
  event: Of<'question-asked' | 'question-answered' | 'question-expired' | 'question-withdrawn'>,
): string {
  switch (event.type) {
    case 'question-asked': {
      const choices = event.choices === undefined ? '' : `[${event.choices.map(oneLine).join(', ')}]`
      const deadline = event.deadline === undefined ? '' : `within ${showDuration(event.deadline - event.time)}`
      return joined(event.id, brief(event.prompt, 120), choices, deadline)
    }
    case 'question-answered':
      return joined(brief(event.value), actorText(event))
    case 'question-expired':
      return event.action
    default:
      return event.id
  }
}

function waitDetail(
  event: Of<
    | 'timer-set'
    | 'timer-fired'
    | 'signal-received'
    | 'wait-started'
    | 'signal-taken'
    | 'wait-expired'
    | 'wait-withdrawn'
    | 'messages-taken'
  >,
): string {
  switch (event.type) {
    case 'timer-set':
      return `for ${showDuration(event.until - event.time)}`
    case 'signal-received':
      return joined(event.name, event.value === undefined ? '' : brief(event.value), actorText(event))
    case 'wait-started': {
      const deadline = event.deadline === undefined ? '' : `within ${showDuration(event.deadline - event.time)}`
      return joined(`for the signal ${event.name}`, deadline)
    }
    case 'signal-taken':
      return joined(event.name, event.value === undefined ? '' : brief(event.value))
    case 'messages-taken':
      return `${event.signals.length}`
    default:
      return ''
  }
}

type RunLevel = Of<
  | 'budget-warned'
  | 'budget-exhausted'
  | 'budget-raised'
  | 'run-recovered'
  | 'run-paused'
  | 'run-resumed'
  | 'interrupt-requested'
  | 'cancel-requested'
  | 'plan-accepted'
  | 'run-completed'
  | 'run-failed'
  | 'run-cancelled'
>

function runDetail(event: RunLevel): string {
  switch (event.type) {
    case 'budget-warned':
    case 'budget-exhausted':
      return `${event.dimension} ${rounded(event.used)} of ${event.limit}`
    case 'budget-raised':
      return joined(budgetText(event.budget), actorText(event))
    case 'run-recovered':
      return 'taken up by another process'
    case 'run-paused':
      return joined(event.reason === 'diverged' ? 'the code has changed' : '', actorText(event))
    case 'run-resumed':
    case 'interrupt-requested':
      return actorText(event)
    case 'cancel-requested':
      return joined(event.reason ?? '', actorText(event))
    case 'plan-accepted':
      return joined(`${event.forget.length} to re-run, ${event.ignore.length} ignored`, actorText(event))
    case 'run-completed':
      return event.failures === 0 ? '' : `${event.failures} failed steps`
    case 'run-failed':
      return errorLine(event.error)
    case 'run-cancelled':
      return event.reason ?? ''
    default:
      // All that this version knows are named above. A newer daemon may tell of more.
      event satisfies never
      return ''
  }
}

export function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('  ')
}

export function errorLine(error: ErrorData | undefined): string {
  return error === undefined ? '' : brief(errorText(error), 200)
}

function actorText(actor: Actor): string {
  return [actor.by === undefined ? '' : `by ${actor.by}`, actor.via === undefined ? '' : `via ${actor.via}`]
    .filter((part) => part !== '')
    .join(' ')
}

function spentTime(event: { readonly started: number; readonly time: number }): string {
  return event.started === 0 ? '' : showDuration(Math.max(0, event.time - event.started))
}

/** `$0.02  1.2k tokens`; nothing when nothing was spent. */
export function usageText(usage: Usage | undefined): string {
  if (usage === undefined) return ''
  const { usd = 0, tokens = 0 } = usage
  return joined(usd === 0 ? '' : money(usd), tokens === 0 ? '' : `${amount(tokens)} tokens`)
}

export function budgetText(budget: object): string {
  return Object.entries(budget)
    .map(([name, limit]) => `${name} ${name === 'usd' ? money(Number(limit)) : amount(Number(limit))}`)
    .join(', ')
}

export function money(usd: number): string {
  return `$${usd >= 0.1 || usd === 0 ? usd.toFixed(2) : Number(usd.toPrecision(2))}`
}

export function amount(value: number): string {
  if (value >= 1e6) return `${rounded(value / 1e6, 1)}m`
  return value >= 1e4 ? `${rounded(value / 1e3, 1)}k` : String(rounded(value, 2))
}

function rounded(value: number, digits = 4): number {
  return Number(value.toFixed(digits))
}
