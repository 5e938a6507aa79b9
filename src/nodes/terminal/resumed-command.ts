/**
 * A command that was in flight when its host died, in a pane that went on: what became of it. The book says whether it was
 * typed, and at which prompt; the marks of that prompt say the rest.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { BookedCommand } from '../panes/command-book.ts'
import { giveUp, result, type CommandWish } from './command-run.ts'
import type { LiveTerminal } from './live-terminal.ts'
import { untilReady } from './readiness.ts'
import type { ReadyRule, TerminalResult } from './terminal-result.ts'

/** Its result, also if that takes as long as the command. Nothing when it was never typed; an error when nobody can know. */
export async function resumeCommand(live: LiveTerminal, wish: CommandWish): Promise<TerminalResult | undefined> {
  const { book } = live.process
  if (book === undefined || wish.name === undefined) return undefined
  const command = book.find(wish.name)
  if (command === undefined) return untyped(live, wish)
  const outcome = command.nested ? undefined : live.booked?.get(command.turn)
  if (outcome === undefined) return unseen(live, wish, command)
  const began = performance.now()
  const rule: ReadyRule = outcome.ended ? 'marks' : await itsEnd(live, wish)
  const found = result(live, outcome.capture, { rule, line: undefined, began })
  if (found.output !== '') wish.onText?.(found.output)
  return outcome.cut ? { ...found, dropped: Math.max(1, found.dropped ?? 0) } : found
}

async function itsEnd(live: LiveTerminal, { timeoutMs, plan, signal }: CommandWish): Promise<ReadyRule> {
  try {
    return await untilReady(live, { timeoutMs, pattern: plan.readyPattern, signal })
  } catch (error) {
    await giveUp(live)
    throw error
  }
}

/** It was not typed into this pane; but it may have been typed into one that is gone. */
function untyped(live: LiveTerminal, wish: CommandWish): undefined {
  if (live.process.past === undefined && wish.plan.policy.effect !== 'repeatable')
    throw unknowable(wish, 'its pane is gone')
  if (live.ended !== undefined) throw unknowable(wish, 'the program in its pane has ended')
  return undefined
}

/** It was to be typed, and the shell never began with it: it did not get there, or it is not whole. */
function unseen(live: LiveTerminal, wish: CommandWish, { turn, nested }: BookedCommand): TerminalResult | undefined {
  if (!nested && live.marked && live.turn === turn && live.ended === undefined) {
    if (live.phase === 'ready') return undefined
    if (live.phase === 'continuation') return { output: '', rule: 'marks', durationMs: 0, continuation: true }
  }
  if (wish.plan.policy.effect === 'repeatable') return undefined
  throw unknowable(wish, nested ? 'it was input for another program' : 'what it printed is no longer there')
}

function unknowable({ id, name }: CommandWish, why: string): NerveError {
  return new NerveError(
    'interrupted',
    `A command in terminal '${id}' was in flight when its process died, and nobody knows how far it came: ${why}. Look at what it did; then run the step again (retry or fork the run), or go on without it.`,
    { data: { reason: 'in-flight', ...(name === undefined ? {} : { step: name.key }) } },
  )
}
