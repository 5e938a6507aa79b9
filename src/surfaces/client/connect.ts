/** The ways to get a client that only Node has. */
import { NerveError } from '../../base/nerve-error.ts'
import type { HostOptions } from '../../host/host.ts'
import { createClient, type Client } from './client.ts'
import { reached } from './http-client.ts'

export interface ConnectOptions {
  /** Needed over TCP, and not on a unix socket, which only its user can open. */
  readonly token?: string
  /** What journals call this way, on a unix socket (default: socket). */
  readonly via?: string
}

/**
 * A client of the host behind a unix socket (a path), or behind a TCP port (`tcp://127.0.0.1:4400`) with a token. Looks at
 * once whether it is there.
 */
export async function connect(path: string, options: ConnectOptions = {}): Promise<Client> {
  if (/^https?:/i.test(path))
    throw new NerveError('bad-option', `${path} is an address for HTTP: connectHttp(url, token).`)
  const { socketConnection } = await import('./socket-connection.ts')
  const tcp = /^tcp:\/\/(.+):(\d+)$/.exec(path)
  const to = tcp === null ? { path } : { host: (tcp[1] ?? '').replace(/^\[(.*)\]$/, '$1'), port: Number(tcp[2]) }
  return reached(createClient(socketConnection({ to, ...options })))
}

/** A client of a host of its own in this process, with the options of `createHost`. Closing it closes the host. */
export async function standalone(options: HostOptions = {}): Promise<Client> {
  const [{ createHost }, { createService }, { createSessionManager }, { serviceConnection }] = await Promise.all([
    import('../../host/host.ts'),
    import('../../host/contract/service.ts'),
    import('../../host/sessions/session-manager.ts'),
    import('./service-connection.ts'),
  ])
  const host = await createHost(options)
  const { sessions: plans = [], onProblem } = options
  const told = onProblem === undefined ? {} : { onProblem }
  const sessions = createSessionManager(host, { plans, lazy: true, ...told })
  const service = createService(host, { sessions, plans, ...told })
  const caller = { scope: 'control', local: true, via: 'sdk' } as const
  const close = async (): Promise<void> => {
    // In this order: what runs is left to the next host, and does not fail for want of its nodes.
    await host.close()
    await sessions.detachAll()
  }
  return createClient(serviceConnection(service, { caller, close }))
}
