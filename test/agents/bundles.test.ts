/** Agents in folders: files, layers, and every problem at once. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { loadAgents, scriptedAgent, type AgentAdapter, type AgentOpen } from 'nerve/agents'
import { workflow } from 'nerve'
import { openStage, rejection } from '../behaviour/stage.ts'
import { SCHEMA_FILE, schemaText } from '../../scripts/agent-schema.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nerve-bundles-'))
  return () => rmSync(dir, { recursive: true, force: true })
})

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), text)
  }
}

/** An agent that says what it was opened with. */
function mirror(opened: AgentOpen[]): AgentAdapter {
  const inner = scriptedAgent({
    folder: join(dir, 'sessions'),
    script: ({ prompt }) => [
      ...(prompt === 'try' ? [{ read: 'x' }, { shell: 'rm x' }, { shell: 'ls' }] : []),
      { say: 'ready' },
      { data: { ok: true } },
    ],
  })
  return {
    ...inner,
    open(options) {
      opened.push(options)
      return inner.open(options)
    },
  }
}

describe('a folder of agents', () => {
  it('has an agent for each file, over the defaults of the folder and of the program', async () => {
    write({
      'agents/defaults.yaml':
        'use: mirror\nmodel: small\npermission:\n  deny: [shell(rm *)]\nlimits: { attempts: 2 }\n',
      'agents/coder.md': '---\nmodel: large\npermission: { allow: [read], otherwise: ask }\n---\n\nYou write code.\n',
      'agents/reviewer.yaml':
        'extends: coder\nprompt: You only look.\ntools: { deny: [edit] }\npermission: deny\noutput: { type: object }\n',
      'agents/README.md': '# Not an agent',
      'agents/notes.txt': 'nor this',
    })
    const opened: AgentOpen[] = []
    const agents = await loadAgents(join(dir, 'agents'), {
      cwd: dir,
      adapters: { mirror: mirror(opened) },
      defaults: { limits: { timeout: '10m', attempts: 1 }, inherit: ['A_KEY'] },
    })
    expect(agents.names).toEqual(['coder', 'reviewer'])
    expect(agents.get('coder').policy).toEqual({
      effect: 'resumable',
      recordInput: true,
      timeout: '10m',
      attempts: 2,
    })
    expect(agents.get('coder').info()).toMatchObject({ config: { inherit: ['A_KEY'], cwd: dir } })
    const { host } = await openStage()
    const both = workflow('both', async (ctx) => [
      (await ctx.run(agents.get('coder'), 'go')).text,
      await ctx.run(agents.get('reviewer'), 'try'),
    ])
    // The rules of all layers hold; what comes above says only what happens to the rest.
    const text = 'denied: The rule shell(rm *) denies it.\ndenied: No rule allows it.\nready'
    expect(await (await host.start(both)).result()).toMatchObject(['ready', { data: { ok: true }, text }])
    await agents.stop()
    expect(opened).toMatchObject([
      { model: 'large', system: 'You write code.', cwd: dir },
      { model: 'large', system: 'You only look.', tools: { deny: ['edit'] } },
    ])
  })

  it('lies over the folders before it', async () => {
    write({
      'mine/coder.yaml': 'use: claude\nmodel: mine\nenv: { A: mine, B: mine }\n',
      'theirs/coder.yaml': 'model: theirs\nenv: { B: theirs }\n',
    })
    const agents = await loadAgents([join(dir, 'mine'), join(dir, 'theirs')], { overrides: { use: 'codex' } })
    expect(agents.get('coder').info().config).toMatchObject({ use: 'codex', model: 'theirs', env: ['A', 'B'] })
    await expect(async () => agents.get('codr')).rejects.toThrow("There is no agent 'codr'. Did you mean 'coder'?")
  })

  it('may be written with a mark of its bytes and with any ends of lines', async () => {
    write({ 'coder.md': '\uFEFF---\r\nuse: claude\r\nmodel: mine\r\n---\r\nYou write code.\r\n' })
    expect((await loadAgents(dir)).get('coder').info().config).toMatchObject({ use: 'claude', model: 'mine' })
  })

  it('names every problem at once, with its place', async () => {
    write({
      'bad.md': '---\nuse: claude\nmodle: x\nlimits:\n  attempts: 0\n---\n',
      'both.yaml': 'use: claude\n',
      'both.json': '{ "use": "claude" }',
      'broken.yaml': 'use: [\n',
      'empty.yaml': 'use: claude\nlimits: { window: 0 }\n',
      'late.yaml': 'use: claude\nlimits: { timeout: soon }\n',
      'loop.yaml': 'extends: pool\n',
      'pool.yaml': 'extends: loop\n',
      'lost.yaml': 'extends: bth\n',
      'nobody.yaml': 'model: x\n',
      'odd.yaml': 'use: oddity\npermission: { allow: ["a b"] }\n',
      'open.md': '---\nuse: claude\npermission: deny\n',
      'twice.md': '---\nuse: claude\nprompt: a\n---\nb\n',
    })
    const error = await rejection(loadAgents(dir))
    const at = relative('.', dir)
    const problems = ((error.data ?? {})['problems'] as string[]).map((one) => one.replaceAll(at, 'HERE'))
    expect(error).toMatchObject({ code: 'bad-file' })
    expect(problems).toEqual([
      expect.stringMatching(/^HERE\/bad\.md:3:1: modle: .*'model'/),
      expect.stringMatching(/^HERE\/bad\.md:5:13: limits\.attempts: /),
      "HERE/both.yaml: both.json is also about 'both'. Keep one of them.",
      expect.stringMatching(/^HERE\/broken\.yaml:\d+:\d+: /),
      expect.stringMatching(/^HERE\/empty\.yaml:2:19: limits\.window: /),
      'HERE/open.md:1:1: its front matter has no end. Close it with a line ---.',
      'HERE/twice.md: has both a prompt and a text. Give one of them.',
      expect.stringMatching(/^late: limits\.timeout: "soon" is not a duration/),
      'loop: extends itself: loop → pool → loop.',
      "lost: extends 'bth', which is not there. Did you mean 'both'?",
      expect.stringMatching(/^nobody: says nowhere which agent/),
      expect.stringMatching(/^odd: use is 'oddity'\. Known: .*claude/),
      expect.stringContaining('"a b" is no rule'),
      'pool: extends itself: pool → loop → pool.',
    ])
    expect((await rejection(loadAgents(join(dir, 'nowhere')))).message).toContain('there is no such folder')
  })
})

it('the published schema is current: node scripts/agent-schema.ts', () => {
  expect(JSON.parse(readFileSync(SCHEMA_FILE, 'utf8'))).toEqual(JSON.parse(schemaText()))
})
