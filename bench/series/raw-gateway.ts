// The floor of the gateway: the same client and the same provider, with nothing between them.
import type { Prepared, Setup } from '../harness/contract.ts'
import { expectEqual } from '../harness/measure.ts'
import { OWN_FORMAT, client, countTokens, provider, type Served } from './gateway-work.ts'

/** Calls of whoever is at the end of these processes; a call of 0 tokens is not streamed. */
export function calls(path: string, tokens: number, served: readonly Served[]): Prepared<string> {
  const [last] = served
  if (last === undefined) throw new Error('nobody serves')
  const { ask, close } = client(path, last)
  return {
    steps: 1,
    run: () => ask(tokens),
    verify: (text) => expectEqual(countTokens(text), Math.max(1, tokens), 'tokens'),
    close: () => {
      close()
      for (const one of served) one.close()
    },
  }
}

export const called = async (): Promise<Prepared<string>> => calls(OWN_FORMAT, 0, [await provider()])
export const streamed = async ({ n }: Setup): Promise<Prepared<string>> => calls(OWN_FORMAT, n, [await provider()])
