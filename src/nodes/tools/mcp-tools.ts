import type { JsonSchema } from '../../base/json-schema.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyNode } from '../../engine/definition.ts'
import { tool, type Tool, type ToolOptions } from './tool.ts'

/** A node whose steps call tools by name: one that `mcp` makes. */
interface ToolServer extends AnyNode {
  tools(): Promise<readonly { readonly name: string; readonly description?: string; readonly input: unknown }[]>
}

export interface McpToolsOptions extends Pick<ToolOptions, 'approval' | 'maxResult' | 'policy'> {
  /** Only these, by their names on the server (default: all). */
  readonly only?: readonly string[]
  /** Put before each name, for servers whose tools have the same names. */
  readonly prefix?: string
}

/**
 * The tools of an MCP server, for models. The server is asked once, now, for what it has.
 *
 * ```ts
 * import { mcp } from 'nerve/mcp'
 * import { mcpTools, type Tool } from 'nerve/models'
 *
 * export const filesOf = (folder: string): Promise<readonly Tool[]> =>
 *   mcpTools(mcp('files', { command: 'my-server', args: [folder] }), { only: ['read_file'], prefix: 'files_' })
 * ```
 */
export async function mcpTools(server: ToolServer, options: McpToolsOptions = {}): Promise<readonly Tool[]> {
  const { only, prefix = '', ...shared } = options
  const all = await server.tools()
  const missing = (only ?? []).filter((name) => !all.some((one) => one.name === name))
  if (missing.length > 0)
    throw new NerveError(
      'bad-option',
      `mcpTools: '${server.id}' has no tool ${missing.join(', ')}. It has: ${all.map(({ name }) => name).join(', ')}.`,
    )
  return all
    .filter(({ name }) => only === undefined || only.includes(name))
    .map(({ name, description, input }) =>
      tool(server, {
        ...shared,
        name: `${prefix}${name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_'),
        description: description ?? name,
        input: input as JsonSchema,
        toInput: (given: unknown) => ({ tool: name, input: given }),
        toResult: ({ text, data }: { readonly text: string; readonly data?: unknown }) => (text === '' ? data : text),
      }),
    )
}
