/** Programs that are no good agents. Whatever they do, a person gets an error and not a wait, and nothing of them is left. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { workflow } from 'nerve'
import {
  acpAgent,
  agent,
  claudeAgent,
  codexAgent,
  copilotAgent,
  opencodeAgent,
  type AgentAdapter,
  type AgentNode,
  type AgentNodeOptions,
} from 'nerve/agents'
import { fakeCall } from '../behaviour/shell-stage.ts'
import { openStage, rejection, until } from '../behaviour/stage.ts'
import { untilNone } from './killed.ts'
import { agentNamed, missing } from './under-test.ts'

let cwd: string

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'nerve-hostile-'))
  return () => rmSync(cwd, { recursive: true, force: true })
})

const ADAPTERS: Readonly<Record<string, (command: string) => AgentAdapter>> = {
  acp: (command) => acpAgent({ name: 'acp', command, capabilities: { resume: true } }),
  codex: (command) => codexAgent({ command }),
  opencode: (command) => opencodeAgent({ command }),
  claude: (command) => claudeAgent({ sdk: agentNamed('claude').file, command }),
  copilot: (command) => copilotAgent({ sdk: agentNamed('copilot').file, command }),
}
const names = Object.keys(ADAPTERS).filter((name) => {
  const sdk = name === 'claude' || name === 'copilot' ? missing(agentNamed(name)) : undefined
  if (sdk !== undefined) console.warn(`SKIPPED: hostile programs in the place of ${name}: ${sdk}`)
  return sdk === undefined
})

function node(name: string, script: string, options: Partial<AgentNodeOptions> = {}): AgentNode {
  const file = join(cwd, 'program')
  writeFileSync(file, script, { mode: 0o755 })
  const use = ADAPTERS[name]?.(file) as AgentAdapter
  const made = agent('coder', { use, cwd, permission: 'allow', env: { HOME: cwd }, ...options })
  onTestFinished(() => made.stop())
  return made
}

/** What a person reads. */
async function failure(made: AgentNode): Promise<string> {
  const { host } = await openStage()
  const run = await host.start(workflow('turn', (ctx) => ctx.run(made, 'Do something.')))
  const { message } = await rejection(run.result())
  await made.stop()
  await untilNone(cwd)
  return message
}

describe.each(names)('in the place of %s, a program', (name) => {
  it('that dies at once', async () => {
    expect(await failure(node(name, '#!/bin/sh\necho I am broken >&2\nexit 3\n'))).toMatch(/3|broken|EPIPE/)
  })

  it('that says things that make no sense', async () => {
    const lines = [
      ...['hello', 'null', '7', '[]', '{}', '{"method":7}', '{"id":999,"result":1}', '{"id":1,"method":"x"}'],
      ...['turn/completed', 'item/started', 'session/update', 'error'].flatMap((method) => [
        JSON.stringify({ jsonrpc: '2.0', method }),
        JSON.stringify({ jsonrpc: '2.0', method, params: null }),
        JSON.stringify({ jsonrpc: '2.0', method, params: { item: null, update: 7 } }),
      ]),
      ...['system', 'assistant', 'result'].map((type) => JSON.stringify({ type, message: { content: [null] } })),
    ]
    expect(await failure(node(name, `#!/bin/sh\ncat <<'END'\n${lines.join('\n')}\nEND\nexit 4\n`))).toContain('coder')
  })

  it('that the system cannot start', async () => {
    expect(await failure(node(name, '#!/no/such/interpreter\n'))).toMatch(/start|launch|127/)
  })

  it('whose folder is not there', async () => {
    const gone = join(cwd, 'gone')
    const message = `Agent 'coder' works in ${gone}, which is not a folder. Make it, or give another cwd.`
    expect(await failure(node(name, '#!/bin/sh\n', { cwd: gone }))).toContain(message)
  })

  it('that does not start', async () => {
    const waits = node(name, '#!/bin/sh\nexec sleep 86400\n', { startTimeout: '500ms' })
    expect(await failure(waits)).toContain('did not start within 0.5 s')
  })

  it('that never ends its line', { timeout: 60_000 }, async () => {
    const flood = "#!/bin/sh\nhead -c 100000000 /dev/zero | tr '\\0' x\nexec sleep 86400\n"
    expect(await failure(node(name, flood, { startTimeout: '1s' }))).toContain('coder')
  })
})

/** Speaks the protocol; `prompt` is what it does when it is told something, `answered` when it is answered. */
function polite(prompt: string, answered = ''): string {
  return `#!${process.execPath}
const { createInterface } = require('node:readline')
const { appendFileSync, readFileSync } = require('node:fs')
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
const answer = (id, result) => say({ id, result })
appendFileSync('starts', 'x')
const starts = readFileSync('starts', 'utf8').length
let told
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, result } = JSON.parse(line)
  if (method === 'session/new') answer(id, { sessionId: 'the-one-${Math.random()}' })
  else if (method === 'session/prompt') { told = id; ${prompt} }
  else if (method === undefined) { ${answered} }
  else if (id !== undefined) answer(id, {})
})
process.stdin.on('end', () => process.exit())
setInterval(() => undefined, 1e6)
`
}

describe('an agent', () => {
  it('that does not hear that it is interrupted is ended, and its session goes on', async () => {
    const { host } = await openStage()
    const made = node(
      'acp',
      polite("if (starts > 1) answer(id, { stopReason: 'end_turn' }); else appendFileSync('told', '')"),
    )
    const flow = workflow('turn', (ctx) => ctx.run(made, 'Do something.'))
    const run = await host.start(flow)
    await until(() => existsSync(join(cwd, 'told')))
    const { session } = made
    await run.cancel()
    expect(await rejection(run.result())).toMatchObject({ code: 'cancelled' })
    await untilNone(cwd)
    expect((await (await host.start(flow)).result()).session).toEqual(session)
  })

  it('whose process dies in a turn is started again for the next', async () => {
    const { host } = await openStage()
    const made = node('acp', polite("if (starts > 1) answer(id, { stopReason: 'end_turn' }); else process.exit(9)"))
    const flow = workflow('turn', (ctx) => ctx.run(made, 'Do something.'))
    expect((await rejection((await host.start(flow)).result())).message).toContain('acp ended (9)')
    await expect((await host.start(flow)).result()).resolves.toMatchObject({ session: made.session })
    expect(readFileSync(join(cwd, 'starts'), 'utf8')).toBe('xx')
  })

  it('can be stopped while it starts', async () => {
    const made = node('acp', '#!/bin/sh\ntouch began\nexec sleep 86400\n')
    const starting = rejection(made.start())
    await until(() => existsSync(join(cwd, 'began')))
    await made.stop()
    expect(await starting).toMatchObject({ code: 'interrupted' })
    await untilNone(cwd, 0)
  })

  it('can be cancelled, and interrupted, while it starts', async () => {
    const { host } = await openStage()
    const made = node('acp', '#!/bin/sh\ntouch began\nexec sleep 86400\n')
    const flow = workflow('turn', (ctx) => ctx.run(made, 'Do something.'))
    const run = await host.start(flow)
    await until(() => existsSync(join(cwd, 'began')))
    await run.cancel()
    expect(await rejection(run.result())).toMatchObject({ code: 'cancelled' })
    await untilNone(cwd)
    rmSync(join(cwd, 'began'))
    const again = rejection((await host.start(flow)).result())
    await until(() => existsSync(join(cwd, 'began')))
    await made.interrupt()
    expect((await again).message).toContain("Agent 'coder' was stopped while it started")
    await untilNone(cwd)
  })

  it('that waits for an answer is interrupted at once, and told that there is none', async () => {
    const { host } = await openStage()
    const params = { toolCall: { toolCallId: 'a', title: 'ls', kind: 'execute' }, options: [] }
    const request = { id: 'asked', method: 'session/request_permission', params }
    const ends = "appendFileSync('answer', JSON.stringify(result)); answer(told, { stopReason: 'cancelled' })"
    const made = node('acp', polite(`say(${JSON.stringify(request)})`, ends), { permission: 'ask' })
    const result = rejection((await host.start(workflow('turn', (ctx) => ctx.run(made, 'Do something.')))).result())
    await until(async () => (await host.inbox()).length === 1)
    await made.interrupt()
    expect((await result).message).toContain("Agent 'coder' was interrupted")
    expect(JSON.parse(readFileSync(join(cwd, 'answer'), 'utf8'))).toEqual({ outcome: { outcome: 'cancelled' } })
    expect(await host.inbox()).toEqual([])
    expect(readFileSync(join(cwd, 'starts'), 'utf8')).toBe('x')
  })

  it('that hears that it is interrupted, and goes on, is ended', async () => {
    const { host } = await openStage()
    const made = node('acp', polite("appendFileSync('told', '')"))
    const result = rejection((await host.start(workflow('turn', (ctx) => ctx.run(made, 'Do something.')))).result())
    await until(() => existsSync(join(cwd, 'told')))
    await made.interrupt()
    expect((await result).message).toContain("Agent 'coder'")
    await untilNone(cwd)
  })

  it('is not told anything else in the middle of a turn', async () => {
    const { host } = await openStage()
    const made = node('acp', polite("appendFileSync('told', '')"))
    const run = await host.start(workflow('turn', (ctx) => ctx.run(made, 'Do something.')))
    await until(() => existsSync(join(cwd, 'told')))
    for (const other of [made.compact(), made.execute('And this.', fakeCall())])
      expect(await rejection(Promise.resolve(other))).toMatchObject({ code: 'not-ready' })
    await made.stop()
    await rejection(run.result())
  })
})

/** A server of Codex that does this when it is told to compact. */
function compacting(does: string): string {
  return `#!${process.execPath}
const { createInterface } = require('node:readline')
const say = (...messages) => process.stdout.write(messages.map((one) => JSON.stringify(one) + '\\n').join(''))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (method === 'thread/compact/start') { ${does} }
  else if (id !== undefined) say({ id, result: { thread: { id: 'the-one-${Math.random()}' } } })
})
process.stdin.on('end', () => process.exit())
`
}

// What nobody waits for would end the whole host: the test runner tells of it.
it.each([
  ['dies', 'process.exit(3)', 'codex ended (3)'],
  ['refuses', "say({ id, error: { message: 'not now' } })", 'not now'],
  [
    'fails at once',
    "say({ id, result: {} }, { method: 'turn/completed', params: { turn: { error: { message: 'no room' } } } })",
    'no room',
  ],
])('a server of Codex that %s when it is told to compact is an error, and no more', async (_, does, message) => {
  const made = node('codex', compacting(does))
  await made.start()
  expect((await rejection(made.compact())).message).toContain(message)
  await made.stop()
  await untilNone(cwd)
})
