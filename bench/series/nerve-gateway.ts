// Calls through the gateway: in the format of the provider, or in another one.
import type { Prepared, Setup } from '../harness/contract.ts'
import { OTHER_FORMAT, OWN_FORMAT, provider, serve } from './gateway-work.ts'
import { calls } from './raw-gateway.ts'

async function through({ variant }: Setup, tokens: number): Promise<Prepared<string>> {
  const behind = await provider()
  const gateway = await serve('gateway-process.ts', behind.url)
  return calls(variant === 'translating' ? OTHER_FORMAT : OWN_FORMAT, tokens, [gateway, behind])
}

export const called = (setup: Setup): Promise<Prepared<string>> => through(setup, 0)
export const streamed = (setup: Setup): Promise<Prepared<string>> => through(setup, setup.n)
