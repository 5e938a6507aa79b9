/** Agents that have agents of their own: what these say and when they end is not the turn's, but what they spend is. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHost, workflow } from 'nerve'
import { agent } from 'nerve/agents'
import { createGateway, scripted, type Gateway, type ModelRequest, type ScriptStep } from 'nerve/gateway'
import { agentNamed, missing, ROOT } from './under-test.ts'

/** How each agent is told to give some of its work to another. */
const HELP = {
  claude: { tool: 'Agent', input: { description: 'help', prompt: 'HELP ME', subagent_type: 'general-purpose' } },
  codex: { tool: 'spawn_agent', input: { message: 'HELP ME', agent_type: 'worker' } },
  copilot: {
    tool: 'task',
    input: { agent_type: 'task', name: 'help', description: 'help', prompt: 'HELP ME', mode: 'background' },
  },
  opencode: { tool: 'task', input: { description: 'help', prompt: 'HELP ME', subagent_type: 'general' } },
} as const

type Name = keyof typeof HELP

const CALL = 1_100
const usage = { input: 1_000, output: 100 }
/** The helper is still at it when the agent itself goes on. */
const HELPING: readonly ScriptStep[] = [{ call: { sh: 'sleep 0.5; touch helped' } }, { say: 'the helper is done' }]
const DONE = { say: 'all of it is done' }
/** Codex waits for its helpers only when it is told to: here for what that has made. */
const WAITS: readonly ScriptStep[] = [{ call: { sh: 'while [ ! -e helped ]; do sleep 0.1; done; sleep 1' } }, DONE]

describe.each(Object.keys(HELP) as Name[])('a helper of %s', (name) => {
  const vendor = agentNamed(name)
  const skip = missing(vendor) !== undefined
  let gateway: Gateway
  let home = ''
  let calls = 0

  beforeAll(async () => {
    mkdirSync(join(ROOT, 'coverage'), { recursive: true })
    home = mkdtempSync(join(ROOT, 'coverage', 'sub-agents-'))
    gateway = await createGateway({
      backend: scripted((request, { step, user }) => {
        // For a title.
        if (request.tools.length === 0) return { say: 'helpers', usage: { input: 0, output: 0 } }
        calls += 1
        if (!said(request).includes('DO ALL')) return { ...(HELPING[step] ?? { say: 'over' }), usage }
        // It is told that its helper has ended, as if it were told by a person.
        if (!user.includes('DO ALL')) return { ...DONE, usage }
        const own = [{ call: HELP[name] }, ...(name === 'codex' ? WAITS : [DONE])]
        return { ...(own[step] ?? { say: 'over' }), usage }
      }),
    })
  })
  afterAll(async () => {
    await gateway.close()
    rmSync(home, { recursive: true, force: true })
  })

  it('does not end its turn, and is paid for', { timeout: 60_000, skip }, async () => {
    const cwd = mkdtempSync(join(home, 'work-'))
    const { token } = gateway.token()
    const coder = agent('coder', {
      use: vendor.adapter,
      cwd,
      // To have a helper is nothing that it has to ask for: what that does is asked for.
      permission: { allow: ['shell'], otherwise: 'deny' },
      env: vendor.env({ home, gateway: { url: gateway.url, token } }),
      gateway: { url: gateway.url, token: () => ({ token, revoke: () => undefined }) },
      ...(vendor.model === undefined ? {} : { model: vendor.model }),
    })
    const host = await createHost({ store: 'memory' })
    const run = await host.start(workflow('turn', (ctx) => ctx.run(coder, 'DO ALL of it.')))
    const { text, usage: spent } = await run.result()
    expect(text).toBe(DONE.say)
    expect(existsSync(join(cwd, 'helped'))).toBe(true)
    expect((spent.input ?? 0) + (spent.output ?? 0)).toBe(calls * CALL)
    await coder.stop()
    await host.close()
  })
})

function said({ messages }: ModelRequest): string {
  return messages.flatMap(({ role, parts }) => (role === 'user' ? [JSON.stringify(parts)] : [])).join('\n')
}
