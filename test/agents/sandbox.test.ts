/** Agents in a sandbox, as nodes. What the agents of vendors do in one is in their suites. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { workflow } from 'nerve'
import { agent, loadAgents, scriptedAgent, type AgentNodeOptions, type Sandbox } from 'nerve/agents'
import { whyNoSandbox } from '../../src/testing/agent-isolation-conformance.ts'
import { openStage, rejection } from '../behaviour/stage.ts'

const reason = whyNoSandbox()
if (reason !== undefined) console.warn(`SKIPPED: agents in a sandbox: ${reason}`)

let home: string
let cwd: string

beforeEach(() => {
  // Not in /tmp: that is another one inside.
  home = mkdtempSync(join(homedir(), '.nerve-agent-sandbox-'))
  cwd = join(home, 'project')
  mkdirSync(cwd)
  return () => rmSync(home, { recursive: true, force: true })
})

function use(commands: readonly string[] = []) {
  return scriptedAgent({
    folder: join(home, 'sessions'),
    script: () => [
      { write: 'inside', text: 'yes' },
      { write: '../outside', text: 'no' },
      ...commands.map((shell) => ({ shell })),
      { say: 'done' },
    ],
  })
}

async function work(options: Partial<AgentNodeOptions>): Promise<string> {
  const node = agent('coder', { use: use(), cwd, permission: 'allow', env: { HOME: home }, ...options })
  onTestFinished(() => node.stop())
  const { host } = await openStage()
  return (await (await host.start(workflow('turn', (ctx) => ctx.run(node, 'go')))).result()).text
}

const made = (): readonly boolean[] => [join(cwd, 'inside'), join(home, 'outside')].map((path) => existsSync(path))

describe.skipIf(reason !== undefined)('an agent in a sandbox', () => {
  it('works in its folder, and what it does elsewhere fails', async () => {
    expect(await work({ sandbox: { level: 'bwrap' } })).toBe('done')
    expect(made()).toEqual([true, false])
  })

  it('writes and sees what it was given, and no keys', async () => {
    mkdirSync(join(home, '.ssh'))
    mkdirSync(join(home, 'more'))
    for (const file of ['.ssh/id', 'notes', 'project/.env']) writeFileSync(join(home, file), `${file}\n`)
    mkdirSync(join(cwd, '.nerve'))
    writeFileSync(join(cwd, '.nerve', 'tokens.json'), 'tokens')
    const commands = ['cat ~/.ssh/id ~/notes .env .nerve/* > seen; touch ~/more/written; echo $SECRET_TOKEN >> seen']
    await work({ use: use(commands), sandbox: { level: 'bwrap', writable: [join(home, 'more')], hidden: ['.env'] } })
    expect(readFileSync(join(cwd, 'seen'), 'utf8')).toBe('notes\n\n')
    expect(existsSync(join(home, 'more', 'written'))).toBe(true)
  })

  it('is so too when it comes from a file', async () => {
    const folder = join(home, 'agents')
    mkdirSync(folder)
    writeFileSync(
      join(folder, 'defaults.yaml'),
      'use: mine\npermission: allow\nsandbox: { level: bwrap, hidden: [secret] }\n',
    )
    writeFileSync(join(folder, 'coder.yaml'), 'sandbox: { level: bwrap, readable: [kept] }\n')
    mkdirSync(join(cwd, 'kept'))
    writeFileSync(join(cwd, 'secret'), 'secret')
    const commands = ['cat secret > seen; touch kept/no']
    const agents = await loadAgents(folder, { cwd, adapters: { mine: use(commands) } })
    onTestFinished(() => agents.stop())
    expect(agents.get('coder').info().config['sandbox']).toEqual({
      level: 'bwrap',
      hidden: ['secret'],
      readable: ['kept'],
    })
    const { host } = await openStage()
    await (await host.start(workflow('turn', (ctx) => ctx.run(agents.get('coder'), 'go')))).result()
    expect(made()).toEqual([true, false])
    expect([readFileSync(join(cwd, 'seen'), 'utf8'), existsSync(join(cwd, 'kept', 'no'))]).toEqual(['', false])
  })
})

describe('a sandbox that an agent cannot have', () => {
  it('is an error, and nothing is started', async () => {
    const adapter = use()
    const careless = { ...adapter, capabilities: { ...adapter.capabilities, sandbox: false } }
    const without = agent('coder', { use: careless, cwd, sandbox: { level: 'bwrap' } })
    expect(await rejection(without.start())).toMatchObject({ code: 'sandbox-missing' })
    const nowhere = agent('coder', { use: adapter, cwd, env: { PATH: '/nowhere' }, sandbox: { level: 'bwrap' } })
    expect(await rejection(nowhere.start())).toMatchObject({
      code: 'sandbox-missing',
      message: expect.stringContaining('apt-get install bubblewrap'),
    })
    expect([without.session, nowhere.session, ...made()]).toEqual([undefined, undefined, false, false])
  })

  it.each([
    [{ level: 'bwrap', network: false }, /reaches its model over the network/],
    [{ level: 'docker' }, /give 'none' or/],
    ['bwrap', /give 'none' or/],
  ])('is refused: %j', (sandbox, message) => {
    expect(() => agent('coder', { use: use(), sandbox: sandbox as Sandbox })).toThrow(message)
  })
})
