/** A host in this process. */
import type { Caller, Service } from '../../host/contract/service.ts'
import { connectionClosed, type Connection } from './connection.ts'

export function serviceConnection(
  service: Service,
  { caller, close }: { readonly caller: Caller; readonly close: () => Promise<void> },
): Connection {
  const over = new AbortController()
  return {
    closed: over.signal,
    call: (name, input, signal) =>
      service.call(name, input, caller, signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])),
    async *feed(name, input, signal) {
      if (over.signal.aborted) throw connectionClosed('the host in this process')
      yield* await service.feed(name, input, caller, AbortSignal.any([signal, over.signal]))
    },
    close: () => {
      over.abort()
      return close()
    },
  }
}
