// A host with its database in a folder, behind a TCP port. Only the rate limit is not the default: one client asks all there is to ask.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Handle, Host } from 'nerve'
import { createHost, door, workflow } from './nerve-entry.ts'

const { createService, openTokens, startServer } = (await import(door('server'))) as typeof import('nerve/server')

const burst = workflow('burst', async (ctx, steps: number) => {
  for (let i = 0; i < steps; i += 1) await ctx.step(`n${i}`, () => ({ count: i }))
})

export interface Serving {
  readonly host: Host
  readonly url: string
  readonly token: string
  start(steps: number): Promise<Handle<void>>
  close(): Promise<void>
}

export async function serving(dir: string): Promise<Serving> {
  mkdirSync(dir, { recursive: true })
  const host = await createHost({ dir, definitions: [burst] })
  const tokens = openTokens(join(dir, 'tokens.json'))
  const rate = { burst: 1_000_000, perSecond: 1_000_000 }
  const server = await startServer({ service: createService(host), tcp: { port: 0 }, tokens, rate })
  return {
    host,
    url: server.url ?? '',
    token: tokens.list()[0]?.secret ?? '',
    start: (steps) => host.start(burst, steps),
    close: async () => {
      await server.close()
      await host.close()
    },
  }
}
