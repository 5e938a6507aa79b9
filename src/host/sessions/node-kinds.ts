/** The kinds of nodes that are there from the start. The code of each is loaded when the first of it is made. */
import { createNodeFactory, type NodeFactory } from './node-factory.ts'

/** The factory that sessions use unless they are given another. */
export const nodeFactory: NodeFactory = createNodeFactory()

// Each checks its own fields, and names the one that is wrong.
nodeFactory.register('bash', async (id, fields) => (await import('../../nodes/bash.ts')).bash(id, fields as never), {
  parsable: true,
})
nodeFactory.register('http', async (id, fields) => (await import('../../nodes/http.ts')).http(id, fields as never))
nodeFactory.register('identity', async (id, fields) => (await import('../../nodes/identity.ts')).identity(id, fields))
nodeFactory.register('mcp', async (id, fields) => (await import('../../nodes/mcp/mcp.ts')).mcp(id, fields))
nodeFactory.register(
  'terminal',
  async (id, fields) => (await import('../../nodes/terminal/terminal.ts')).terminal(id, fields),
  { parsable: true },
)
nodeFactory.register(
  'claude-terminal',
  async (id, fields) => (await import('../../nodes/claude-terminal/claude-terminal.ts')).claudeTerminal(id, fields),
  { keeps: ['session'] },
)
