/** A person thinks; meanwhile the session is used by somebody of whom this node knows nothing. The answer is not lost, and nothing hangs. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { workflow } from 'nerve'
import { agent, type SessionRef } from 'nerve/agents'
import { createGateway, scripted, type Gateway } from 'nerve/gateway'
import { promptedScript, scriptPrompt } from 'nerve/testing'
import { openStage } from '../behaviour/stage.ts'
import { agentNamed, missing, ROOT } from './under-test.ts'

describe.each(['claude', 'copilot'] as const)('%s', (name) => {
  const vendor = agentNamed(name)
  let gateway: Gateway
  let home = ''

  beforeAll(async () => {
    mkdirSync(join(ROOT, 'coverage'), { recursive: true })
    home = mkdtempSync(join(ROOT, 'coverage', 'overtaken-'))
    gateway = await createGateway({ backend: scripted(promptedScript) })
  })
  afterAll(async () => {
    await gateway.close()
    rmSync(home, { recursive: true, force: true })
  })

  function coder(id: string, cwd: string, session?: SessionRef) {
    const node = agent(id, {
      use: vendor.adapter,
      cwd,
      env: vendor.env({ home, gateway: { url: gateway.url, token: '' } }),
      gateway,
      ...(session === undefined ? {} : { session }),
      ...(vendor.model === undefined ? {} : { model: vendor.model }),
    })
    onTestFinished(() => node.stop())
    return node
  }

  /** Uses the session for something else. */
  const users = {
    'another node': async (cwd: string, session: SessionRef) => {
      const { host } = await openStage()
      const two = coder('two', cwd, session)
      const work = workflow('other', async (ctx) => (await ctx.run(two, scriptPrompt({ say: 'other' }))).text)
      expect(await (await host.start(work)).result()).toBe('other')
      await two.stop()
    },
    'somebody who is no node': async (cwd: string, resume: SessionRef) => {
      const reach = { url: gateway.url, token: gateway.token().token }
      const session = await vendor.adapter.open({
        cwd,
        env: vendor.env({ home, gateway: reach }),
        gateway: reach,
        resume,
        permission: async () => ({ allow: false }),
        question: async () => ({ refused: 'nobody is here' }),
        started: () => undefined,
      })
      const ends: unknown[] = []
      for await (const part of session.prompt(scriptPrompt({ say: 'other' })))
        if (part.type === 'turn-end') ends.push(part.text)
      expect(ends).toEqual(['other'])
      await session.close()
    },
  }
  // Copilot keeps a request open that nobody can answer any more, and does not say so.
  const known = name === 'claude' ? (['another node', 'somebody who is no node'] as const) : (['another node'] as const)

  it.each(known)(
    'is told the answer in a new turn when %s has used its session meanwhile',
    { timeout: 120_000, skip: missing(vendor) !== undefined },
    async (who) => {
      const cwd = mkdtempSync(join(home, 'work-'))
      const { host } = await openStage()
      const one = coder('one', cwd)
      const work = workflow('work', async (ctx, prompt: string) => (await ctx.run(one, prompt)).text)
      const run = await host.start(work, scriptPrompt({ call: { sh: 'printf x >> once.txt' } }, { say: 'first' }))
      await run.rest()
      if (one.session === undefined) throw new Error('no session')
      await users[who](cwd, one.session)
      const [question] = await host.inbox()
      await host.answer(question?.id ?? '', 'allow')
      expect(await run.result()).toBe('first')
      expect(readFileSync(join(cwd, 'once.txt'), 'utf8')).toBe('x')
      expect(await host.inbox()).toEqual([])
    },
  )
})
