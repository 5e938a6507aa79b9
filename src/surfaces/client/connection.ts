/** One way to a host. What is above it does not know which. */
import type { CallName, FeedName } from '../../host/contract/contract.ts'
import type { ErrorData } from '../../base/nerve-error.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { errorOffWire } from '../../host/contract/wire.ts'

/** Something of a feed: an item, a place to go on from, or both. */
export interface Delivery {
  readonly item?: unknown
  readonly cursor?: string
}

export interface Connection {
  call(name: CallName, input: unknown, signal?: AbortSignal): Promise<unknown>
  /** Ends when the feed does. Throws `connection-lost` when the way to the host is gone: then it can be opened again. */
  feed(name: FeedName, input: unknown, signal: AbortSignal): AsyncIterable<Delivery>
  close(): Promise<void>
  /** Aborts when somebody closes it: then nothing is to be waited for or tried again. */
  readonly closed: AbortSignal
}

/** What a call came to, unless nobody waits for it any more: not every connection can break it off. */
export function unlessOver<Value>(
  answer: Promise<Value>,
  signal: AbortSignal | undefined,
  { closed }: Pick<Connection, 'closed'>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal?.aborted === true ? (signal.reason as Error) : connectionClosed('the host'))
    const letGo = (): void => {
      signal?.removeEventListener('abort', end)
      closed.removeEventListener('abort', end)
    }
    signal?.addEventListener('abort', end)
    closed.addEventListener('abort', end)
    answer.finally(letGo).then(resolve, reject)
    if (signal?.aborted === true || closed.aborted) end()
  })
}

export function connectionClosed(where: string): NerveError {
  return new NerveError('connection-lost', `The connection to ${where} was closed.`)
}

export function connectionLost(where: string, cause?: unknown): NerveError {
  const reason = cause instanceof Error ? `: ${reasonOf(cause)}` : ''
  return new NerveError('connection-lost', `The connection to ${where} was lost${reason}.`, {
    retry: 'later',
    ...(cause === undefined ? {} : { cause }),
  })
}

export function notReached(where: string, cause: unknown): NerveError {
  return new NerveError(
    'connection-lost',
    `Nothing answers at ${where}${cause instanceof Error ? `: ${reasonOf(cause)}` : ''}. Is the host running?`,
    { retry: 'later', cause, data: { reached: false } },
  )
}

/** `fetch failed` says nothing: what it was is below. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message
}

/** What came where an answer should be; undefined when it is not one of this protocol. */
export function errorIn(body: unknown): Error | undefined {
  const error = typeof body === 'object' && body !== null ? (body as { readonly error?: unknown }).error : undefined
  const isError = typeof error === 'object' && error !== null && typeof (error as ErrorData).message === 'string'
  return isError ? errorOffWire(error as ErrorData) : undefined
}
