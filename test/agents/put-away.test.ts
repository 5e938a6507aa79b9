/** A person thinks, and nothing runs: another host has the answer, and the real agent does what the person made of it. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHost, workflow } from 'nerve'
import { agent } from 'nerve/agents'
import { createGateway, scripted, type Gateway } from 'nerve/gateway'
import { promptedScript, scriptPrompt } from 'nerve/testing'
import { untilNone } from './killed.ts'
import { agentNamed, missing, ROOT } from './under-test.ts'

describe.each(['claude', 'copilot'] as const)('%s', (name) => {
  const vendor = agentNamed(name)
  let gateway: Gateway
  let home = ''

  beforeAll(async () => {
    mkdirSync(join(ROOT, 'coverage'), { recursive: true })
    home = mkdtempSync(join(ROOT, 'coverage', 'away-'))
    gateway = await createGateway({ backend: scripted(promptedScript) })
  })
  afterAll(async () => {
    await gateway.close()
    rmSync(home, { recursive: true, force: true })
  })

  it(
    'hears of something else meanwhile, and goes on',
    { timeout: 120_000, skip: missing(vendor) !== undefined },
    async () => {
      const cwd = mkdtempSync(join(home, 'work-'))
      const { token } = gateway.token()
      const coder = agent('coder', {
        use: vendor.adapter,
        cwd,
        env: vendor.env({ home, gateway: { url: gateway.url, token } }),
        gateway: { url: gateway.url, token: () => ({ token, revoke: () => undefined }) },
        ...(vendor.model === undefined ? {} : { model: vendor.model }),
      })
      const turn = workflow('turn', async (ctx, prompt: string) => (await ctx.run(coder, prompt)).text)
      const host = await createHost({ store: 'memory' })
      const first = await host.start(turn, scriptPrompt({ call: { sh: 'printf x >> once.txt' } }, { say: 'first' }))
      await first.rest()
      const other = await host.start(turn, scriptPrompt({ say: 'other' }))
      expect(await other.result()).toBe('other')
      const questions = await host.inbox()
      expect(questions).toMatchObject([{ run: first.id, prompt: expect.stringContaining('once.txt') }])
      await host.answer(questions[0]?.id ?? '', 'allow')
      expect(await first.result()).toBe('first')
      expect(readFileSync(join(cwd, 'once.txt'), 'utf8')).toBe('x')
      // The turn that was broken off is begun again, and what it asks again is answered already.
      expect(await host.inbox()).toEqual([])
      await coder.stop()
      await host.close()
    },
  )

  it('is away while a person thinks', { timeout: 120_000, skip: missing(vendor) !== undefined }, async () => {
    const [dir, cwd] = [mkdtempSync(join(home, 'host-')), mkdtempSync(join(home, 'work-'))]
    const { token } = gateway.token()
    const prompt = scriptPrompt(
      { call: { sh: 'touch before.txt' } },
      { call: { ask: { question: 'Which colour?', options: ['red', 'blue'] } } },
      { say: 'painted {{last}}' },
    )
    /** A host of its own, until the run rests again. */
    const next = async (answer?: (detail: unknown) => unknown) => {
      const coder = agent('coder', {
        use: vendor.adapter,
        cwd,
        env: vendor.env({ home, gateway: { url: gateway.url, token } }),
        gateway: { url: gateway.url, token: () => ({ token, revoke: () => undefined }) },
        ...(vendor.model === undefined ? {} : { model: vendor.model }),
      })
      const paint = workflow('paint', async (ctx) => (await ctx.run(coder, prompt)).text)
      const host = await createHost({ dir, definitions: [paint] })
      const [open] = await host.inbox()
      if (open !== undefined) await host.answer(open.id, answer?.(open.detail))
      const run = open === undefined ? await host.start(paint) : await host.handle(open.run)
      const status = await run.rest()
      if (status === 'waiting') await untilNone(cwd)
      const [question] = await host.inbox()
      const told = status === 'completed' ? await run.result() : question?.prompt
      await host.close()
      await coder.stop()
      return told
    }
    expect(await next()).toMatch(/May coder use .* touch before\.txt/)
    const edited = (detail: unknown) => JSON.stringify((detail as { input: unknown }).input).replace('before', 'after')
    expect(await next((detail) => ({ allow: JSON.parse(edited(detail)) as unknown }))).toBe('Which colour?')
    expect(readdirSync(cwd)).toEqual(['after.txt'])
    expect(await next(() => 'a kind of mauve')).toMatch(/painted .*a kind of mauve/s)
  })
})
