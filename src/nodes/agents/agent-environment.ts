/** The environment of an agent's program. */
import { homedir } from 'node:os'
import { join } from 'node:path'
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

/** Variables that are switches, all of them on. */
export function switchedOn(names: string): Variables {
  return Object.fromEntries(names.split(' ').map((name) => [name, '1']))
}

/** Files and folders of the home that an agent sees as its own. */
export function inHome(env: Variables, ...names: readonly string[]): readonly string[] {
  return names.map((name) => join(env['HOME'] ?? homedir(), name))
}

const USUAL = {
  XDG_DATA_HOME: '.local/share',
  XDG_STATE_HOME: '.local/state',
  XDG_CONFIG_HOME: '.config',
  XDG_CACHE_HOME: '.cache',
}

/** The folders of that name in which a program keeps its data, its state, its settings and its cache. */
export function usualFolders(env: Variables, name: string): readonly string[] {
  return Object.entries(USUAL).map(([variable, folder]) => join(env[variable] ?? inHome(env, folder)[0] ?? '', name))
}
