/** The budget of a run holds for the agents of vendors too: what they call goes through the gateway, which asks first. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { workflow } from 'nerve'
import { agent } from 'nerve/agents'
import { createGateway, scripted } from 'nerve/gateway'
import { promptedScript, scriptPrompt } from 'nerve/testing'
import { openStage, rejection } from '../behaviour/stage.ts'
import { agentNamed, missing, ROOT, type AgentName } from './under-test.ts'

const PROMPT = scriptPrompt({ call: { sh: 'touch one.txt' } }, { call: { sh: 'touch two.txt' } }, { say: 'both' })

describe.each(['codex', 'copilot'] as const satisfies readonly AgentName[])('the budget of a run with %s', (name) => {
  const { adapter, env, model, ...vendor } = agentNamed(name)
  const lacks = missing({ adapter, env, ...vendor })

  it.skipIf(lacks !== undefined)(
    'is counted by the gateway, and refuses the call that would exceed it',
    async () => {
      mkdirSync(join(ROOT, 'coverage'), { recursive: true })
      const home = mkdtempSync(join(ROOT, 'coverage', 'agent-'))
      const gateway = await createGateway({ backend: scripted(promptedScript), assumedOutput: 1_000 })
      const coder = (id: string, cwd: string) => {
        const node = agent(id, {
          use: adapter,
          cwd,
          env: env({ home, gateway: { url: gateway.url, token: '' } }),
          gateway,
          permission: 'allow',
          ...(model === undefined ? {} : { model }),
        })
        onTestFinished(() => node.stop())
        return node
      }
      onTestFinished(async () => {
        await gateway.close()
        rmSync(home, { recursive: true, force: true })
      })
      const { host } = await openStage()
      const enough = coder('enough', mkdtempSync(join(home, 'work-')))
      const paid = await host.start(
        workflow('paid', (ctx) => ctx.run(enough, PROMPT)),
        undefined,
        {
          budget: { tokens: 1_000_000 },
        },
      )
      expect((await paid.result()).text).toContain('both')
      const { tokens = 0, calls = 0 } = (await host.run(paid.id)).usage
      expect(tokens).toBeGreaterThan(1_000)
      expect(calls).toBeGreaterThanOrEqual(3)

      const cwd = mkdtempSync(join(home, 'work-'))
      const short = coder('short', cwd)
      const poor = await host.start(
        workflow('poor', (ctx) => ctx.run(short, PROMPT)),
        undefined,
        {
          budget: { tokens: Math.round(tokens / 2) },
        },
      )
      expect(await rejection(poor.result())).toMatchObject({ code: 'budget-exhausted' })
      expect((await host.run(poor.id)).status).toBe('exhausted')
      expect((await host.run(poor.id)).usage.tokens).toBeLessThanOrEqual(tokens / 2)
      expect(existsSync(join(cwd, 'two.txt'))).toBe(false)
    },
    60_000,
  )
})
