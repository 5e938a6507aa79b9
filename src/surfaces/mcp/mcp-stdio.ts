/** The MCP server on streams, for a client that started this process. */
import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Client } from '../client/client.ts'
import { createMcpServer, type McpServerOptions } from './mcp-server.ts'

export interface StdioOptions extends McpServerOptions {
  readonly input: Readable
  /** Where the protocol goes, and nothing else. */
  readonly output: Writable
  /** Ends it from here. */
  readonly signal: AbortSignal
}

/** Resolves when the client has gone. */
export async function serveMcp(client: Client, options: StdioOptions): Promise<void> {
  const { input, output, signal, ...more } = options
  // What is wrong with the options is wrong now, and not when the first client asks.
  await createMcpServer(client, more.workflows === 'all' ? more : { ...more, onProblem: refuse })
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>()
  input
    .once('end', leave)
    .once('close', leave)
    .once('error', () => leave())
  output.once('error', () => leave())
  signal.addEventListener('abort', () => leave(), { once: true })
  if (signal.aborted) leave()
  const serving = serveStdio(() => createMcpServer(client, more), {
    transport: new Transport(input, output, leave),
    ...(more.onProblem === undefined ? {} : { onerror: more.onProblem }),
  })
  try {
    await gone
  } finally {
    await serving.close()
  }
}

/** The library gives up by itself, as on a message that is too large: then nobody reads any more, and whoever writes would wait for ever. */
class Transport extends StdioServerTransport {
  readonly #onClosed: () => void

  constructor(input: Readable, output: Writable, onClosed: () => void) {
    super(input, output)
    this.#onClosed = onClosed
  }

  override async close(): Promise<void> {
    await super.close()
    this.#onClosed()
  }
}

function refuse(error: unknown): never {
  throw error
}
