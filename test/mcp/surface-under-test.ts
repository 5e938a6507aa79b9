/** A host with workflows that ask, offered over MCP, and the official client of MCP that uses it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { createHost, workflow, type Host, type HostOptions } from 'nerve'
import { createService, openTokens, startServer, type ServerOptions, type Tokens } from 'nerve/server'
import { onTestFinished } from 'vitest'
import * as z from 'zod'
import { createClient } from '../../src/surfaces/client/client.ts'
import { serviceConnection } from '../../src/surfaces/client/service-connection.ts'
import { mcpMount, type McpMountOptions } from '../../src/surfaces/mcp/mcp-mount.ts'

export const publish = workflow(
  'publish',
  { description: 'Publishes a file', input: z.object({ file: z.string(), copies: z.int().min(1).optional() }) },
  async (ctx, { file }) => {
    const draft = await ctx.step('draft', () => `draft of ${file}`)
    const answer = await ctx.ask(`Publish ${draft}?`, { label: 'ok', choices: ['yes', 'no'] })
    return { file, answer }
  },
)

/** One question of its own, and one of a child, of another kind. */
const survey = workflow('survey', async (ctx) => {
  const [name, age] = await Promise.all([
    ctx.ask('Your name?', { label: 'name' }),
    ctx.child(
      workflow('age', (child) =>
        child.ask('Your age?', {
          label: 'age',
          schema: z.object({ years: z.number() }),
          detail: { why: 'statistics' },
        }),
      ),
      undefined,
    ),
  ])
  return { name, age }
})

const greet = workflow('my.greet', { input: z.string() }, async (_ctx, name) => `Hello ${name}`)
const failing = workflow('failing', async (ctx) => ctx.step('bad', () => Promise.reject(new Error('no luck'))))
/** More questions than a client lets itself be asked in one call. */
const many = workflow('many', async (ctx) => {
  const heard: string[] = []
  for (let i = 0; i < 10; i += 1) heard.push(await ctx.ask(`Question ${i}?`, { label: `q${i}` }))
  return heard.join('')
})

const waiting = workflow('waiting', async (ctx) => ctx.waitFor('go', { label: 'go' }))

const definitions = [publish, survey, greet, failing, many, waiting]

export type Era = 'today' | 'handshake'
export const ERAS: readonly Era[] = ['today', 'handshake']

export interface Asking {
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

type Filled = Readonly<Record<string, string>> | 'decline' | 'cancel'

export interface ClientOptions {
  readonly era: Era
  /** Fills in the forms; without it, the client cannot be asked. */
  readonly fill?: (asking: Asking) => Filled | Promise<Filled>
  /** What the server asks for is the result of the call. */
  readonly byHand?: boolean
}

/** The official client. What it was asked is in `asked`. */
export function officialClient({ era, fill, byHand = false }: ClientOptions): {
  readonly client: Client
  readonly asked: Asking[]
} {
  const asked: Asking[] = []
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: fill === undefined ? {} : { elicitation: { form: {} } },
      versionNegotiation: { mode: era === 'today' ? 'auto' : 'legacy' },
      ...(byHand ? { inputRequired: { autoFulfill: false } } : {}),
    },
  )
  if (fill !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const form = params as { readonly requestedSchema: { readonly properties: Record<string, unknown> } }
      const asking = { message: params.message, fields: form.requestedSchema.properties }
      asked.push(asking)
      const filled = await fill(asking)
      return typeof filled === 'string' ? { action: filled } : { action: 'accept', content: { ...filled } }
    })
  onTestFinished(() => client.close())
  return { client, asked }
}

export interface Surface {
  readonly host: Host
  readonly tokens: Tokens
  readonly url: string
  readonly problems: unknown[]
  /** The clients that were made for visitors and are not closed. */
  readonly open: () => number
  readonly end: () => Promise<void>
  readonly connect: (
    options: ClientOptions & { readonly token?: string },
  ) => Promise<{ client: Client; asked: Asking[] }>
}

export async function surfaceUnderTest(
  mount: McpMountOptions = {},
  {
    server: more = {},
    host: hostOptions = { store: 'memory' },
  }: { server?: Partial<ServerOptions>; host?: HostOptions } = {},
): Promise<Surface> {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-mcp-'))
  const problems: unknown[] = []
  const onProblem = (error: unknown): void => void problems.push(error)
  const all = [...definitions, ...(hostOptions.definitions ?? [])]
  const host = await createHost({ ...hostOptions, definitions: all, onProblem })
  const service = createService(host, { onProblem })
  const tokens = openTokens(join(folder, 'tokens.json'))
  let open = 0
  const mcp = mcpMount(
    ({ caller }) => {
      open += 1
      const close = async (): Promise<void> => void (open -= 1)
      return createClient(serviceConnection(service, { caller: { ...caller, via: 'mcp' }, close }))
    },
    { onProblem, ...mount },
  )
  const server = await startServer({ service, tcp: { port: 0 }, tokens, onProblem, mounts: { '/mcp': mcp }, ...more })
  let ending: Promise<void> | undefined
  const end = (): Promise<void> =>
    (ending ??= (async () => {
      await server.close()
      await host.close()
      rmSync(folder, { recursive: true, force: true })
    })())
  onTestFinished(end)
  const url = `${server.url}/mcp`
  return {
    host,
    tokens,
    url,
    problems,
    open: () => open,
    end,
    connect: async ({ token = tokens.list()[0]?.secret, ...options }) => {
      const made = officialClient(options)
      const requestInit = { headers: { authorization: `Bearer ${token}` } }
      await made.client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
      return made
    },
  }
}

/** The data of a result, or of its text. */
// oxlint-disable-next-line no-explicit-any -- tests look into what a tool gave
export function dataOf(result: unknown): any {
  const { structuredContent, content } = result as CallToolResult
  return structuredContent ?? JSON.parse(textOf({ content }))
}

export function textOf(result: unknown): string {
  const [first] = (result as CallToolResult).content
  return first?.type === 'text' ? first.text : ''
}

export async function tool(client: Client, name: string, input: Record<string, unknown> = {}): Promise<CallToolResult> {
  return client.callTool({ name, arguments: input })
}
