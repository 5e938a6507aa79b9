import { NerveError, errorFrom, isNerveError } from '../../base/nerve-error.ts'
import type { Input, Output } from '../../host/contract/contract.ts'
import type { CallOptions, ClientParts } from './client.ts'
import { itemsOf, patiently, type EventItem, type EventOptions } from './events.ts'

/** A run in your hand, wherever it runs. */
export interface ClientRun<Result = unknown> {
  readonly id: string
  get(): Promise<Output<'runs.get'>>
  /** The output; rejects when the run failed or was cancelled. Waits as long as it takes, also over lost connections. */
  result(options?: CallOptions): Promise<Result>
  /** How it stands when it ends or rests, or after the timeout. */
  wait(options?: Omit<Input<'runs.wait'>, 'run'> & CallOptions): Promise<Output<'runs.wait'>>
  events(wanted?: Omit<EventOptions, 'run'>): AsyncIterable<EventItem>
  pause(): Promise<void>
  resume(options?: Omit<Input<'runs.resume'>, 'run'>): Promise<void>
  interrupt(options?: Omit<Input<'runs.interrupt'>, 'run'>): Promise<void>
  cancel(reason?: string): Promise<void>
  fork(options?: Omit<Input<'runs.fork'>, 'run'>): Promise<ClientRun<Result>>
  signal(name: string, value?: unknown): Promise<void>
  /** What `resume` would do over the current code. */
  plan(): Promise<Output<'runs.plan'>>
  /** The run and its children as text, for `client.runs.import`. */
  export(): Promise<string>
}

const ROUND_MS = 25_000

export function clientRun<Result>(parts: ClientParts, run: string): ClientRun<Result> {
  const { call, connection } = parts
  return {
    id: run,
    get: () => call('runs.get', { run }),
    result: async (options) => resultOf(await ended(parts, run, options)) as Result,
    wait: ({ signal, ...options } = {}) => call('runs.wait', { ...options, run }, signal && { signal }),
    events: (wanted = {}) => itemsOf(connection, { ...wanted, run }),
    pause: async () => void (await call('runs.pause', { run })),
    resume: async (options = {}) => void (await call('runs.resume', { ...options, run })),
    interrupt: async (options = {}) => void (await call('runs.interrupt', { ...options, run })),
    cancel: async (reason) => void (await call('runs.cancel', { run, ...(reason === undefined ? {} : { reason }) })),
    fork: async (options = {}) => clientRun<Result>(parts, (await call('runs.fork', { ...options, run })).run),
    signal: async (name, value) =>
      void (await call('signals.send', { run, name, ...(value === undefined ? {} : { value }) })),
    plan: () => call('runs.plan', { run }),
    export: async () => (await call('runs.export', { run })).text,
  }
}

/** Asks again and again: no answer takes so long that something on the way gives up. */
async function ended(
  { call, connection: { closed } }: ClientParts,
  run: string,
  options: CallOptions = {},
): Promise<Output<'runs.wait'>> {
  for (;;) {
    options.signal?.throwIfAborted()
    const now = await patiently(closed, () => call('runs.wait', { run, timeout: ROUND_MS }, options))
    if (now.ended) return now
    if (now.status === 'exhausted') throw spent(run)
  }
}

function spent(run: string): NerveError {
  return new NerveError('budget-exhausted', `Run ${run} has spent its budget. Resume it with a larger one.`, {
    retry: 'pause',
    data: { run },
  })
}

/** What a run came to, as its handle in the same process would give it. */
function resultOf(end: Output<'runs.wait'>): unknown {
  if (end.error === undefined) return end.output
  const cause = errorFrom(end.error)
  if (isNerveError(cause, 'cancelled')) throw cause
  const step = end.error.data?.['step']
  const where = typeof step === 'string' ? ` at step '${step}'` : ''
  throw new NerveError('run-failed', `Run ${end.run} failed${where}: ${end.error.message}`, {
    data: { run: end.run, ...(step === undefined ? {} : { step }) },
    cause,
  })
}
