/** The nodes of the project in this process, for commands that find no daemon. */
import { createNodeService } from '../../host/contract/node-service.ts'
import { createSessionManager } from '../../host/node-api.ts'
import { createClient } from '../client/client.ts'
import { serviceConnection } from '../client/service-connection.ts'
import type { Output } from './output.ts'
import { me, openProject } from './project.ts'
import type { OpenedNodes } from './project-nodes.ts'

/** A host that opens sessions when they are needed. At its end, what can live without this process is left running. */
export async function nodesHere(dir: string, out: Output): Promise<OpenedNodes> {
  const { host, config } = await openProject(dir, out)
  const { sessions: plans = [], fields = {} } = config ?? {}
  const sessions = createSessionManager(host, { plans, lazy: true, onProblem: (error) => out.error(error) })
  const service = createNodeService(host, { sessions, plans, fields })
  const close = async (): Promise<void> => {
    await sessions.detachAll()
    await host.close()
  }
  const client = createClient(serviceConnection(service, { caller: { ...me(), scope: 'control', local: true }, close }))
  return { client, daemon: undefined, end: () => client.close() }
}
