/** `nerve mcp` of a project, in front of its daemon, and the official client that has started it. */
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Client } from '@modelcontextprotocol/client'
import { compileCache } from '../built.ts'
import { COMMAND } from '../cli/nerve.ts'
import { officialClient } from './surface-under-test.ts'

export function mcpEnvironment(dir: string): Record<string, string> {
  const own = { NERVE_TRUST: '1', NERVE_LOCAL: '', XDG_STATE_HOME: `${dir}/.state` }
  return { ...(process.env as Record<string, string>), ...compileCache(), ...own }
}

/** Not connected yet. */
export function stdioClient(
  dir: string,
  ...options: readonly string[]
): { readonly client: Client; readonly transport: StdioClientTransport } {
  const [command = '', ...args] = COMMAND
  const { client } = officialClient({ era: 'today' })
  const transport = new StdioClientTransport({
    ...{ command, args: [...args, 'mcp', ...options], cwd: dir, env: mcpEnvironment(dir), stderr: 'pipe' },
  })
  return { client, transport }
}
