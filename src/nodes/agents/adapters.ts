/** The agents that are known by name. The code of each is loaded when it is first used. */
import { nearest } from '../../base/nearest.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { AgentAdapter, AgentProbe } from './adapter.ts'

const ADAPTERS: Readonly<Record<string, () => Promise<AgentAdapter>>> = {
  claude: async () => (await import('./claude-agent.ts')).claudeAgent(),
  copilot: async () => (await import('./copilot-agent.ts')).copilotAgent(),
  gemini: async () => (await import('./gemini-agent.ts')).geminiAgent(),
  opencode: async () => (await import('./opencode-agent.ts')).opencodeAgent(),
  codex: async () => (await import('./codex-agent.ts')).codexAgent(),
}

export const agentNames: readonly string[] = Object.keys(ADAPTERS)

export function adapterNamed(id: string, name: string): Promise<AgentAdapter> {
  const load = ADAPTERS[name]
  if (load !== undefined) return load()
  const meant = nearest(name, agentNames)
  const hint = meant === undefined ? `Known: ${agentNames.join(', ')}, or give an adapter.` : `Did you mean '${meant}'?`
  throw new NerveError('bad-option', `Agent '${id}': there is no agent ${JSON.stringify(name)}. ${hint}`, {
    data: { node: id, agent: name },
  })
}

/** Looks which of them are there. */
export function probeAgents(): Promise<readonly ({ readonly name: string } & AgentProbe)[]> {
  return Promise.all(
    Object.entries(ADAPTERS).map(async ([name, load]) => ({ name, ...(await (await load()).probe()) })),
  )
}
