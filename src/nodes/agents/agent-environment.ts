/** The environment of an agent's program. */
import type { AgentOpen } from './adapter.ts'

type Variables = Readonly<Record<string, string>>

/** What it is given, with what is `usual` for this agent, and what points it at the gateway, where its model is reached through one. */
export function agentEnvironment(
  { env, gateway }: Pick<AgentOpen, 'env' | 'gateway'>,
  usual: Variables,
  reach: (gateway: NonNullable<AgentOpen['gateway']>) => Variables,
): Variables {
  return { ...usual, ...env, ...(gateway === undefined ? {} : reach(gateway)) }
}
