/** What a compaction takes is paid for, also by agents that say themselves what they spend. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost, workflow } from 'nerve'
import { agent, scriptedAgent } from 'nerve/agents'
import { createGateway, scripted } from 'nerve/gateway'
import { agentNamed, missing, ROOT } from './under-test.ts'

const CALL = { input: 1_000, output: 100 }

function folder(): string {
  mkdirSync(join(ROOT, 'coverage'), { recursive: true })
  const made = mkdtempSync(join(ROOT, 'coverage', 'compaction-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

describe.each(['claude', 'codex', 'copilot', 'opencode'] as const)('%s', (name) => {
  const vendor = agentNamed(name)
  it('says what a compaction has spent', { timeout: 60_000, skip: missing(vendor) !== undefined }, async () => {
    const home = folder()
    let calls = 0
    const gateway = await createGateway({
      backend: scripted(() => {
        calls += 1
        return { say: 'all that was said', usage: CALL }
      }),
    })
    onTestFinished(() => gateway.close())
    const place = { url: gateway.url, token: gateway.token().token }
    const session = await vendor.adapter.open({
      cwd: mkdtempSync(join(home, 'work-')),
      env: vendor.env({ home, gateway: place }),
      gateway: place,
      permission: async () => ({ allow: true }),
      question: async () => ({ refused: 'nobody is here' }),
      started: () => undefined,
      ...(vendor.model === undefined ? {} : { model: vendor.model }),
    })
    onTestFinished(() => session.close())
    for (const text of ['one', 'two'])
      for await (const part of session.prompt(text)) expect(part.type).not.toBe('error')
    const before = calls
    const spent = await session.compact?.()
    expect(calls).toBeGreaterThan(before)
    expect(spent).toMatchObject({ input: (calls - before) * CALL.input, output: (calls - before) * CALL.output })
  })
})

it('counts with the turn after which it was needed', async () => {
  const home = folder()
  const use = scriptedAgent({
    folder: join(home, 'sessions'),
    script: () => [{ usage: { input: 10, output: 1, usd: 1, window: 0.7 } }, { say: 'full' }],
  })
  const open: typeof use.open = async (options) =>
    Object.assign(await use.open(options), { compact: async () => ({ input: 500, output: 50, usd: 2 }) })
  const node = agent('coder', { use: { ...use, open }, cwd: home })
  onTestFinished(() => node.stop())
  const host = await createHost({ store: 'memory' })
  onTestFinished(() => host.close())
  const run = await host.start(workflow('turn', (ctx) => ctx.run(node, 'go')))
  expect((await run.result()).usage).toEqual({ input: 510, output: 51, usd: 3, window: 0.7 })
  expect((await host.run(run.id)).usage).toMatchObject({ tokens: 561, usd: 3 })
})
