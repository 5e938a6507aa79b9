/** Agents that are not there: said with the command that installs them, and nothing is started. And how long an adapter may be. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  acpAgent,
  claudeAgent,
  codexAgent,
  copilotAgent,
  geminiAgent,
  opencodeAgent,
  type AgentAdapter,
} from 'nerve/agents'
import { ROOT } from './under-test.ts'

const gone = '/nowhere/at/all'

const MISSING: readonly [AgentAdapter, string][] = [
  [claudeAgent({ sdk: `${gone}/sdk.mjs` }), 'npm install @anthropic-ai/claude-agent-sdk'],
  [codexAgent({ command: gone }), 'npm install -g @openai/codex'],
  [copilotAgent({ sdk: `${gone}/index.js` }), 'npm install @github/copilot-sdk'],
  [opencodeAgent({ command: gone }), 'npm install -g opencode-ai'],
  [geminiAgent({ command: gone }), 'npm install -g @google/gemini-cli'],
  [acpAgent({ name: 'mine', command: 'no-such-agent-on-the-path', install: 'make mine' }), 'make mine'],
]

describe.each(MISSING)('$name, where it is not', (adapter, install) => {
  it('is not found, and says how to install it', async () => {
    expect(await adapter.probe()).toMatchObject({ found: false, install, problem: expect.stringMatching(/not found/) })
  })

  it('is not opened', async () => {
    let started = 0
    const opening = async () =>
      adapter.open({
        cwd: '/',
        env: {},
        permission: async () => ({ allow: false }),
        question: async () => ({ refused: 'nobody is here' }),
        started: () => {
          started += 1
        },
      })
    await expect(opening).rejects.toMatchObject({
      code: 'package-missing',
      message: expect.stringContaining(install) as string,
      data: { install },
    })
    expect(started).toBe(0)
  })
})

describe('an adapter', () => {
  const folder = join(ROOT, 'src', 'nodes', 'agents')
  const adapters = readdirSync(folder).filter((name) => name.endsWith('-agent.ts'))

  it('is a file for each agent that there is', () => {
    const names = [...MISSING.map(([{ name }]) => name.replace('mine', 'acp')), 'scripted']
    expect(adapters.toSorted()).toEqual(names.map((name) => `${name}-agent.ts`).toSorted())
  })

  // What takes more is either shared with others, or something that the agent does by itself.
  it.each(adapters)('%s has about 250 lines at most', (name) => {
    expect(readFileSync(join(folder, name), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(255)
  })
})
