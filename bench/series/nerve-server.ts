// Queries to a host over HTTP, and its events.
import { join } from 'node:path'
import type { Prepared, Setup } from '../harness/contract.ts'
import { serve } from './gateway-work.ts'
import { asking, telling, type Asked } from './server-work.ts'

export const asked = async ({ dir }: Setup): Promise<Prepared<string>> =>
  asking((await serve('nerve-server-process.ts', join(dir, 'host'))) as Asked)

export async function subscribed(setup: Setup): Promise<Prepared<string>> {
  const { serving } = await import('./nerve-serving.ts')
  const { url, token, start, close } = await serving(join(setup.dir, 'host'))
  return telling({ url, token, close, burst: async () => void (await start(setup.n)) }, setup)
}
