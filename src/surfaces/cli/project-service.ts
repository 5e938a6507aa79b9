/** The whole contract, kept by a host in this process: for `nerve mcp` and `nerve call` without a daemon. */
import { join } from 'node:path'
import type { Host } from '../../host/api.ts'
import type { Caller, Service } from '../../host/contract/service.ts'
import { createService } from '../../host/contract/service.ts'
import { createSessionManager, isTrusted, type LoadedConfig } from '../../host/node-api.ts'
import { createClient, type Client } from '../client/client.ts'
import { serviceConnection } from '../client/service-connection.ts'
import { WORKFLOWS } from './project-folder.ts'

export interface HostedProject {
  readonly host: Host
  readonly config: LoadedConfig | undefined
  readonly dir: string
  readonly onProblem: (error: unknown) => void
}

/** Closing the client closes the host. */
export function serviceClient({ host, config, dir, onProblem }: HostedProject, caller: Caller): Client {
  const { sessions: plans = [], fields = {}, budget = {} } = config ?? {}
  const sessions = createSessionManager(host, { plans, lazy: true, onProblem })
  const service: Service = createService(host, {
    ...{ sessions, plans, fields, budget, onProblem },
    folder: join(dir, WORKFLOWS),
    mayLoad: () => isTrusted(dir),
  })
  const close = async (): Promise<void> => {
    // In this order: what runs is left to the next host, and does not fail for want of its nodes.
    await host.close()
    await sessions.detachAll()
  }
  return createClient(serviceConnection(service, { caller, close }))
}
