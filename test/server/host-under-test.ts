/** A host with something to do, offered on every transport at once. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, defineNode, workflow, type Host, type HostOptions } from 'nerve'
import {
  createService,
  openTokens,
  startServer,
  type Server,
  type ServerOptions,
  type Service,
  type Tokens,
} from 'nerve/server'
import { createSessionManager, type SessionManager } from 'nerve/sessions'
import { createClient } from '../../src/surfaces/client/client.ts'
import { serviceConnection } from '../../src/surfaces/client/service-connection.ts'
import { mcpMount } from '../../src/surfaces/mcp/mcp-mount.ts'

/** Asks, waits for a signal, and says what it heard. */
const review = workflow('review', { description: 'asks a person' }, async (ctx, input: { file: string }) => {
  const draft = await ctx.step('draft', (call) => {
    call.emit('text-delta', 'writing ')
    return `draft of ${input.file}`
  })
  const answer = await ctx.ask(`Publish ${draft}?`, { label: 'publish', choices: ['yes', 'no'] })
  const note = await ctx.waitFor('note', { label: 'note' })
  return { draft, answer, note, when: new Date(0) }
})

/** Many small events. */
export const busy = workflow('busy', async (ctx, steps: number) => {
  for (let i = 0; i < steps; i += 1) await ctx.step(`step-${i}`, () => i)
  return steps
})

const failing = workflow('failing', async (ctx) => ctx.step('bad', () => Promise.reject(new Error('no luck'))))

export const waiting = workflow('waiting', async (ctx) => ctx.waitFor('go', { label: 'go' }))

/** Few events, each of them large. */
const chatty = workflow('chatty', async (ctx, steps: number) => {
  for (let i = 0; i < steps; i += 1) await ctx.step(`talk-${i}`, () => 'x'.repeat(20_000))
  return steps
})

export const definitions = [review, busy, failing, waiting, chatty]

export interface UnderTest {
  readonly host: Host
  readonly server: Server
  readonly service: Service
  readonly sessions: SessionManager
  readonly tokens: Tokens
  readonly token: string
  readonly folder: string
  readonly socket: string
  readonly url: string
  readonly problems: unknown[]
  readonly stops: unknown[]
  readonly end: () => Promise<void>
}

export async function hostUnderTest(
  more: Partial<ServerOptions> = {},
  hostOptions: HostOptions = { store: 'memory' },
): Promise<UnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-server-'))
  const problems: unknown[] = []
  const stops: unknown[] = []
  const onProblem = (error: unknown): void => void problems.push(error)
  const host = await createHost({ ...hostOptions, definitions, onProblem })
  const sessions = createSessionManager(host, { lazy: true, onProblem })
  await sessions.create({
    name: 'tools',
    nodes: [
      defineNode('shout', (text: string, call) => {
        call.emit('text-delta', `${text}…`)
        return `${text.toUpperCase()}!`
      }),
    ],
  })
  const service = createService(host, {
    version: '1.2.3',
    sessions,
    onProblem,
    onShutdown: (by) => void stops.push(by),
  })
  mkdirSync(join(folder, 'run'), { mode: 0o700 })
  const tokens = openTokens(join(folder, 'tokens.json'))
  const socket = join(folder, 'run', 'nerve.sock')
  const mcp = mcpMount(
    ({ caller }) => createClient(serviceConnection(service, { caller, close: () => Promise.resolve() })),
    { workflows: 'all', onProblem },
  )
  const server = await startServer({
    ...{ service, socket, tcp: { port: 0 }, tokens, version: '1.2.3', onProblem },
    mounts: { '/mcp': mcp },
    ...more,
  })
  return {
    host,
    server,
    service,
    sessions,
    tokens,
    token: tokens.list()[0]?.secret ?? '',
    folder,
    socket,
    url: server.url ?? '',
    problems,
    stops,
    end: async () => {
      await server.close()
      await sessions.closeAll()
      await host.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
