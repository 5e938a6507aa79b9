/** `nerve mcp` in front of a daemon: it lives as long as its client, outlives the daemon, and says nothing on stdout but the protocol. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { COMMAND } from '../cli/nerve.ts'
import { isAlive, stage, type Stage } from '../daemon/stage.ts'
import { mcpEnvironment, stdioClient } from './stdio-client.ts'
import { dataOf, tool } from './surface-under-test.ts'

const CONFIG = `
import { workflow } from 'nerve'
console.log('the project file was loaded')
const waiting = workflow('waiting', async (ctx) => {
  await ctx.step('talk', () => { console.log('a step prints'); process.stdout.write('and writes\\n') })
  return ctx.waitFor('go', { label: 'go' })
})
const asking = workflow('asking', (ctx) => ctx.ask('Really?', { choices: ['yes', 'no'] }))
export default { nodes: [waiting, asking] }
`

function open(): Stage {
  const here = stage({ 'nerve.config.ts': CONFIG })
  onTestFinished(here.remove)
  return here
}

it('a call that waits goes on when the daemon dies, and the run with it', async () => {
  const { dir, kill, record, until } = open()
  const { client, transport } = stdioClient(dir)
  await client.connect(transport)
  const { run } = dataOf(await tool(client, 'runs_start', { definition: 'waiting' }))
  const waits = client.callTool({ name: 'runs_wait', arguments: { run, until: 'end', timeout: 60_000 } })
  const before = record()?.pid
  await kill()
  await until(() => ![undefined, before].includes(record()?.pid), 'there is another daemon')
  await tool(client, 'signals_send', { run, name: 'go', value: 7 })
  expect(dataOf(await waits)).toMatchObject({ ended: true, output: 7 })
})

it('a call that waits leaves it to a restart to start the next daemon, in the way of the one before', async () => {
  const { dir, nerve, record } = open()
  const env = { NERVE_TRUST: '1' }
  await nerve(['server', 'start', '--http', '0'], { env })
  const { client, transport } = stdioClient(dir)
  await client.connect(transport)
  const { run } = dataOf(await tool(client, 'runs_start', { definition: 'waiting' }))
  const waits = client.callTool({ name: 'runs_wait', arguments: { run, until: 'end', timeout: 60_000 } })
  await tool(client, 'runs_get', { run })
  const before = record()
  const { code, out } = await nerve(['server', 'restart', '--json'], { env })
  expect({ code, said: JSON.parse(out) }).toMatchObject({ code: 0, said: { started: true, pid: record()?.pid } })
  expect(record()?.pid).not.toBe(before?.pid)
  expect(record()?.url).toMatch(/^http:/)
  await tool(client, 'signals_send', { run, name: 'go', value: 7 })
  expect(dataOf(await waits)).toMatchObject({ ended: true, output: 7 })
})

it('with --read-only no question is answered, also with a state that this server never gave', async () => {
  const { dir, client: near } = open()
  const { client, transport } = stdioClient(dir, '--read-only')
  await client.connect(transport)
  const daemon = await near()
  const { id: run } = await daemon.runs.start('asking')
  await daemon.run(run).wait({ until: 'rest' })
  const [question] = await daemon.questions.list()
  const forged = await client.callTool({
    ...{ name: 'runs_wait', arguments: { run, timeout: 0 } },
    inputResponses: { [question?.id ?? '']: { action: 'accept', content: { answer: 'yes' } } },
    requestState: JSON.stringify({ run, passed: [], round: 1, told: 0 }),
  } as never)
  expect(dataOf(forged)).toMatchObject({ ended: false, next: 'A person has to answer its question.' })
  expect(await daemon.questions.list()).toMatchObject([{ id: question?.id }])
})

/** Speaks the protocol by hand, and keeps what came. */
function byHand(dir: string): { child: ChildProcess; lines: string[]; send: (message: object) => void } {
  const [command = '', ...args] = COMMAND
  const child = spawn(command, [...args, 'mcp'], { cwd: dir, env: mcpEnvironment(dir) })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  return {
    child,
    lines,
    send: (message) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
  }
}

const BEGIN = {
  ...{ id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

it.each([
  ['closes its end', (child: ChildProcess) => void child.stdin?.end()],
  ['sends SIGTERM', (child: ChildProcess) => void child.kill('SIGTERM')],
])('when its client %s in the middle of a call, it ends at once, and what it started goes on', async (_how, leave) => {
  const { dir, client, until } = open()
  const { child, lines, send } = byHand(dir)
  const answered = (id: number): boolean => lines.some((line) => line.includes(`"id":${id}`))
  send(BEGIN)
  await until(() => answered(0), 'it has begun')
  child.stdin?.write('nonsense\n{"jsonrpc":"2.0"}\n[]\n')
  send({
    id: 1,
    method: 'tools/call',
    params: { name: 'runs_start', arguments: { definition: 'waiting', wait: true } },
  })
  const near = await client()
  await until(async () => (await near.runs.list({ status: ['waiting'] })).length === 1, 'the run waits')
  send({ id: 2, method: 'tools/list', params: {} })
  await until(() => answered(2), 'it answers meanwhile')
  const left = Date.now()
  leave(child)
  const [code] = (await once(child, 'exit')) as [number]
  expect(code).toBe(0)
  expect(Date.now() - left).toBeLessThan(5_000)
  expect(isAlive(child.pid ?? 0)).toBe(false)
  const [run] = await near.runs.list()
  await near.run(run?.run ?? '').signal('go', 1)
  expect(await near.run(run?.run ?? '').result()).toBe(1)
  // Nothing but the protocol.
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
})

it('a message that is larger than the protocol has room for ends it, with the reason on stderr', async () => {
  const { dir, until } = open()
  const { child, lines, send } = byHand(dir)
  let told = ''
  child.stderr?.on('data', (chunk: Buffer) => (told += chunk.toString()))
  send(BEGIN)
  await until(() => lines.length > 0, 'it has begun')
  child.stdin?.on('error', () => undefined)
  send({
    id: 1,
    method: 'tools/call',
    params: { name: 'runs_list', arguments: { definition: 'x'.repeat(11_000_000) } },
  })
  expect(await once(child, 'close')).toEqual([0, null])
  expect(told).toMatch(/exceeded maximum size[^\n]*\n$/)
})
