/**
 * A host as an MCP server: tools for models, resources for those who look, and questions for the person at the client. Built on
 * the client and on the contract as data, so it can do what they can, and no more.
 */
import { McpServer } from '@modelcontextprotocol/server'
import type { Scope } from '../../host/contract/scopes.ts'
import type { Client } from '../client/client.ts'
import { addResources } from './resources.ts'
import { OFFERED, addTools, type ToolParts } from './tools.ts'
import { addWorkflowTools } from './workflow-tools.ts'

export interface McpServerOptions {
  /** Registered definitions that are tools of their own: all, or these. */
  readonly workflows?: 'all' | readonly string[] | undefined
  /** What may be done through it (default control). Tools that need more are not offered. */
  readonly scope?: Scope | undefined
  /** Whether nodes may be made through it, as by callers on this machine (default true). */
  readonly local?: boolean | undefined
  /** How long a call waits for its run when it does not say, in ms (default 50,000: most clients wait a minute). */
  readonly wait?: number | undefined
  readonly version?: string | undefined
  /** Hears of errors that are not those of the caller. */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

const WAIT_MS = 50_000
/** A person may take their time. */
const ROUND_MS = 24 * 60 * 60_000

const INSTRUCTIONS =
  'Nerve runs workflows of agents, programs and people. definitions_list tells what can be started, runs_start starts it, runs_wait ' +
  'waits for its result. A run goes on when you stop waiting, and when this connection ends: keep its id. A run may ask questions; ' +
  'they are for people, so do not answer them without asking the person you work for.'

export async function createMcpServer(client: Client, options: McpServerOptions = {}): Promise<McpServer> {
  const { scope = 'control', local = true, wait = WAIT_MS, version = '0', workflows = [] } = options
  const onProblem = options.onProblem ?? ((error: unknown) => process.emitWarning(error as Error))
  const server = new McpServer(
    { name: 'nerve', title: 'Nerve', version },
    { instructions: INSTRUCTIONS, inputRequired: { roundTimeoutMs: ROUND_MS } },
  )
  const parts: ToolParts = { client, server, scope, local, wait, onProblem }
  addTools(parts)
  await addWorkflowTools(parts, { wanted: workflows, taken: OFFERED })
  addResources(server, client)
  return server
}
