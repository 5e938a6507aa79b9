/** The MCP servers for an agent, in the words of its vendor. */
import type { AgentOpen, McpServerOptions } from './adapter.ts'

export function mcpServersAs<Server>(
  servers: AgentOpen['mcpServers'] = {},
  as: (server: McpServerOptions, name: string) => Server,
): Readonly<Record<string, Server>> {
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, as(server, name)]))
}
