/** The agents that are on this machine, each with a home of its own: nothing of yours is read, and nothing is asked of a vendor. */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { claudeAgent, codexAgent, copilotAgent, type AgentAdapter } from 'nerve/agents'

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

export interface Found {
  readonly name: string
  readonly version: string
  readonly adapter: AgentAdapter
  readonly model?: string
  readonly env: (home: string) => Readonly<Record<string, string>>
}

/** The test command of this repository brings them; else what is installed counts. */
const vendor = (...parts: string[]): string | undefined => {
  const file = join(ROOT, 'vendors', 'node_modules', ...parts)
  return existsSync(file) ? file : undefined
}

const machine = `${process.platform}-${process.arch}`
const codex = vendor('@openai', `codex-${machine}`, 'vendor', 'x86_64-unknown-linux-musl', 'bin', 'codex')
const copilot = vendor('@github', 'copilot-sdk', 'dist', 'index.js')
const claude = vendor('@anthropic-ai', 'claude-agent-sdk', 'sdk.mjs')

const KNOWN: readonly Omit<Found, 'version' | 'name'>[] = [
  {
    adapter: codexAgent(codex === undefined ? {} : { command: codex }),
    model: 'gpt-5-codex',
    // It makes nothing to start its sandbox with where temporary files are, and this checkout may be there.
    env: (home) => ({ HOME: home, CODEX_HOME: made(home, 'codex'), TMPDIR: made(home, 'tmp') }),
  },
  {
    adapter: copilotAgent(copilot === undefined ? {} : { sdk: copilot }),
    model: 'gpt-5',
    env: (home) => ({ HOME: home, COPILOT_HOME: made(home, 'copilot') }),
  },
  {
    adapter: claudeAgent(claude === undefined ? {} : { sdk: claude }),
    env: (home) => ({ HOME: home, CLAUDE_CONFIG_DIR: made(home, 'claude'), CLAUDE_CODE_MAX_RETRIES: '1' }),
  },
]

export async function foundAgents(): Promise<readonly Found[]> {
  const found = await Promise.all(
    KNOWN.map(async (known): Promise<readonly Found[]> => {
      const probe = await known.adapter.probe()
      return probe.found ? [{ ...known, name: known.adapter.name, version: probe.version ?? '' }] : []
    }),
  )
  return found.flat()
}

function made(home: string, name: string): string {
  const folder = join(home, name)
  mkdirSync(folder, { recursive: true })
  return folder
}
