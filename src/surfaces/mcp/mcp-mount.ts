/** The MCP server at a path of a host's HTTP server. Loads nothing before the first request: most hosts never get one. */
import type { Client } from '../client/client.ts'
import type { Visitor } from '../server/doorkeeper.ts'
import type { Mount } from '../server/mount.ts'
import type { McpServerOptions } from './mcp-server.ts'

export interface McpMountOptions extends Omit<McpServerOptions, 'scope' | 'local'> {
  /** How long a session of a client that says nothing is kept, in ms (default 30 minutes). */
  readonly idle?: number | undefined
  /** The most sessions of a token at once (default 64). */
  readonly maxSessions?: number | undefined
}

/** A client with the rights of a visitor. It is made for one request or one session, and closed after that. */
export type ClientFor = (visitor: Visitor) => Client

export function mcpMount(clientFor: ClientFor, options: McpMountOptions = {}): Mount {
  let endpoint: Promise<Mount> | undefined
  const load = async (): Promise<Mount> => {
    const { McpEndpoint } = await import('./mcp-endpoint.ts')
    return new McpEndpoint(clientFor, options)
  }
  return {
    answer: async (visit) => {
      endpoint ??= load()
      return (await endpoint).answer(visit)
    },
    close: async () => (await endpoint)?.close(),
  }
}
