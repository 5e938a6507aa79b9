/** The errors that more than one part of the engine gives. */
import { NerveError } from '../base/nerve-error.ts'
import type { ResumePlan } from '../journal/events.ts'
import type { RunHead } from '../journal/port.ts'

export function runEnded(run: string, status: string): NerveError {
  return new NerveError(
    'run-ended',
    `Run ${run} has ended (${status}). Fork it to go on from one of its steps: nerve fork ${run} --at PATH`,
    { data: { run, status } },
  )
}

export function definitionMissing(state: Pick<RunHead, 'run' | 'definition' | 'source'>): NerveError {
  const where =
    state.source === undefined
      ? 'Give it to createHost({ definitions: [...] })'
      : `Its file was ${state.source}; put it back`
  return new NerveError(
    'definition-missing',
    `Run ${state.run} needs the definition '${state.definition}', which is not here. ${where}, then resume the run.`,
  )
}

export function ownedElsewhere(run: string): NerveError {
  return new NerveError(
    'owned-elsewhere',
    `Run ${run} is being driven by another process. Watch it with: nerve events ${run} --follow`,
    { retry: 'later' },
  )
}

export function givenUp(run: string, cause: NerveError): NerveError {
  return new NerveError(
    'store-failed',
    `Run ${run} was given up where it stood: ${cause.message} Nothing that was stored is lost; it goes on when a host takes it up again.`,
    { cause, data: { run } },
  )
}

/** Made once: every run ends, and making an error costs as much as a step. */
export const RUN_OVER = new NerveError('run-ended', 'The run has ended; nothing can be added to it.')

/** Made once: parking a hundred thousand runs needs no hundred thousand errors. */
export const PARKED = new NerveError('host-closed', 'The run is not in memory here; it waits in its journal.')

export function divergence(run: string, plan: ResumePlan): NerveError {
  const list = (paths: readonly string[]): string =>
    paths.length === 0 ? '' : ` (${paths.slice(0, 5).join(', ')}${paths.length > 5 ? ', …' : ''})`
  return new NerveError(
    'diverged',
    `The code of run ${run} has changed since it ran: keep ${plan.keep}, re-run ${plan.rerun.length}${list(plan.rerun)}, ${plan.unknown.length} unknown${list(plan.unknown)}. ` +
      `The run is paused and nothing was executed. Look with: nerve resume ${run} --plan; go on with --accept or --from PATH.`,
    { retry: 'pause', data: { run, plan } },
  )
}
