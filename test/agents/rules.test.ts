/** The same rules about files and commands hold for each of the real agents, whatever it calls them. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHost, workflow } from 'nerve'
import { agent, type PermissionPolicy } from 'nerve/agents'
import { createGateway, scripted, type Gateway, type ScriptStep } from 'nerve/gateway'
import { promptedScript, scriptPrompt } from 'nerve/testing'
import { agentNamed, missing, ROOT } from './under-test.ts'

const patch = (path: string) => `apply_patch <<'E'\n*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch\nE`

describe.each(['claude', 'codex', 'copilot', 'gemini'] as const)('%s', (name) => {
  const vendor = agentNamed(name)
  const skip = missing(vendor) !== undefined
  const write = (path: string): ScriptStep =>
    name === 'codex' ? { call: { sh: patch(path) } } : { call: { write: { path, text: 'x' } } }
  let gateway: Gateway
  let home = ''

  beforeAll(async () => {
    mkdirSync(join(ROOT, 'coverage'), { recursive: true })
    home = mkdtempSync(join(ROOT, 'coverage', 'rules-'))
    gateway = await createGateway({ backend: scripted(promptedScript) })
  })
  afterAll(async () => {
    await gateway.close()
    rmSync(home, { recursive: true, force: true })
  })

  /** What is in its folder after it has tried everything. */
  async function made(permission: PermissionPolicy): Promise<readonly string[]> {
    const cwd = mkdtempSync(join(home, 'work-'))
    for (const folder of ['good', 'bad']) mkdirSync(join(cwd, folder))
    const { token } = gateway.token()
    const coder = agent('coder', {
      use: vendor.adapter,
      cwd,
      permission,
      env: vendor.env({ home, gateway: { url: gateway.url, token } }),
      gateway: { url: gateway.url, token: () => ({ token, revoke: () => undefined }) },
      ...(vendor.model === undefined ? {} : { model: vendor.model }),
    })
    const steps = [
      write('good/file'),
      write('bad/file'),
      { call: { sh: 'mkdir bad-command' } },
      { call: { sh: "mkdir 'good-command'" } },
    ]
    const prompt = scriptPrompt(...steps, { say: 'done' })
    const host = await createHost({ store: 'memory' })
    await (await host.start(workflow('turn', (ctx) => ctx.run(coder, prompt)))).result()
    await coder.stop()
    await host.close()
    return readdirSync(cwd, { recursive: true, encoding: 'utf8' }).toSorted()
  }

  const GOOD = ['bad', 'good', 'good-command', 'good/file']

  it('does what rules allow, and no more', { timeout: 60_000, skip }, async () => {
    const allow = ['edit(good/*)', "shell(mkdir 'good-*)"]
    expect(await made({ allow, otherwise: 'deny' })).toEqual(GOOD)
  })

  it('does not do what rules deny', { timeout: 60_000, skip }, async () => {
    const deny = ['edit(bad/*)', 'shell(mkdir bad-*)']
    expect(await made({ deny, otherwise: 'allow' })).toEqual(GOOD)
  })
})
