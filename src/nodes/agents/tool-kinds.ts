/** What kind of tool it is that an agent calls by its own name, for rules that hold for every agent. */
import type { ToolKind } from './adapter.ts'

/** The kinds of tools by their names, several of a kind with spaces between them; `mcp__*` is every name that begins so. */
export function toolKinds(names: Readonly<Partial<Record<ToolKind, string>>>): (tool: string) => ToolKind {
  const kinds = Object.entries(names).map(([kind, tools]) => [kind as ToolKind, tools.split(' ')] as const)
  const isOne = (tool: string, name: string): boolean =>
    name.endsWith('*') ? tool.startsWith(name.slice(0, -1)) : tool === name
  return (tool) => kinds.find(([, tools]) => tools.some((name) => isOne(tool, name)))?.[0] ?? 'other'
}
