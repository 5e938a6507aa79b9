/** The sandbox of an agent: that of a command, with what an agent cannot do without. */
import { existsSync, mkdirSync } from 'node:fs'
import { extname } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { enterSandbox, type Enter, type Sandbox, type Surroundings } from '../sandbox.ts'
import type { AgentAdapter } from './adapter.ts'

/** How the programs of an agent get into its sandbox; undefined where it has none. */
export async function enterAgentSandbox(
  { name, capabilities, folders }: AgentAdapter,
  sandbox: Sandbox,
  place: Surroundings,
): Promise<Enter | undefined> {
  if (sandbox === 'none') return undefined
  if (!capabilities.sandbox)
    throw new NerveError(
      'sandbox-missing',
      `The agent ${name} cannot be put into a sandbox: its adapter does not say that it starts everything there (capability sandbox). Take another one, or say sandbox: 'none' when it may do everything that you may do. Nothing was run.`,
      { data: { agent: name } },
    )
  const own = (folders?.(place.env) ?? []).filter((path) => existsSync(path) || made(path))
  const writable = ['.', ...own, ...(sandbox.writable ?? [])]
  return enterSandbox({ ...sandbox, writable, network: true }, place)
}

/** A folder is made, so that what the agent keeps in it stays. What looks like a file is left to the agent. */
function made(path: string): boolean {
  if (extname(path) !== '') return false
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return true
}
