/** What goes wrong in a daemon, or around it, while it has runs. */
import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { ensureDaemon, type DaemonCommand } from '../../src/surfaces/daemon/find-daemon.ts'
import { COMMAND, jsonLines } from '../cli/nerve.ts'
import * as files from '../cli/workflows.ts'
import { isAlive, stage, type Stage } from './stage.ts'

const [program = '', ...rest] = COMMAND
let here: Stage
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  here.remove()
})

const open = (workflows: Readonly<Record<string, string>>): Stage => (here = stage(workflows))

const statuses = async (): Promise<Record<string, string>> => {
  const rows = JSON.parse((await here.nerve(['ps', '--json'])).out) as { definition: string; status: string }[]
  return Object.fromEntries(rows.map(({ definition, status }) => [definition, status]))
}

/** Takes its whole process along. */
const deadly = `import { workflow } from 'nerve'
export default workflow('deadly', async (ctx) => ctx.step('die', () => process.kill(process.pid, 'SIGKILL')))
`

test('a run that takes every daemon along is told of, and can be cancelled', async () => {
  const { nerve, until, record } = open({ 'deadly.ts': deadly, 'greet.ts': files.greet })
  await nerve(['run', 'deadly.ts', '--detach'])
  await until(() => !isAlive(record()?.pid ?? 0), 'it is dead')
  const { code, err } = await nerve(['run', 'greet.ts', '--detach'])
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('dies as soon as it has started') })
  expect((await nerve(['cancel', 'last'])).code).toBe(0)
  expect((await nerve(['run', 'greet.ts'])).code).toBe(0)
})

test.skipIf(process.getuid?.() !== 0)(
  'the daemon of another user, as with sudo, is not called a file to remove',
  async () => {
    const { nerve, dir } = open({ 'greet.ts': files.greet })
    await nerve(['server', 'start'])
    chownSync(join(dir, '.nerve/server.json'), 65_534, 65_534)
    const { code, err } = await nerve(['ps'])
    chownSync(join(dir, '.nerve/server.json'), 0, 0)
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/belongs to another user \(65534\), whose daemon .* Do this as that user/),
    })
  },
)

/** Never lets go of its process, as a loop that is wrong does. */
const spinning = `import { workflow } from 'nerve'
export default workflow('spinning', async () => { for (;;); })
`

test('a daemon that a run keeps from starting is told of, can be ended, and the run can be cancelled', async () => {
  const { nerve, start, until, has, read } = open({ 'spinning.ts': spinning, 'greet.ts': files.greet })
  const first = start(['run', 'spinning.ts', '--local'])
  await first.shown('run-created')
  first.child.kill('SIGKILL')
  await first.ended
  const starter = start(['server', 'start'])
  await until(() => has('.nerve/server.start.json'), 'it starts')
  const { pid } = JSON.parse(read('.nerve/server.start.json')) as { pid: number }
  ends.push(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
  starter.child.kill('SIGKILL')
  const status = await nerve(['server', 'status', '--json'])
  expect({ ...status, out: JSON.parse(status.out) }).toMatchObject({ code: 1, out: { running: false, starting: pid } })
  expect((await nerve(['server', 'status'])).out).toMatch(/has not come to the end .* nerve cancel RUN --local/)
  const stopped = await nerve(['server', 'stop', '--force', '--json'])
  expect({ stopped: JSON.parse(stopped.out), alive: isAlive(pid) }).toEqual({
    stopped: { stopped: true },
    alive: false,
  })
  expect((await nerve(['cancel', 'last', '--local'])).code).toBe(0)
  expect((await nerve(['run', 'greet.ts', '--detach'])).code).toBe(0)
})

/** Forgets to catch something, and wants to end its process, each time its code runs, until there is a file \`go\`. */
const careless = `import { existsSync } from 'node:fs'
import { workflow } from 'nerve'
export default workflow('careless', async (ctx) => {
  void Promise.reject(new Error('nobody caught me'))
  setImmediate(() => process.exit(3))
  await ctx.step('hold', async () => { while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20)) })
  return 'over'
})
`

test('a careless run that was left by a daemon does not keep the next one from starting', async () => {
  const { nerve, write, kill, until, log } = open({ 'careless.ts': careless })
  await nerve(['run', 'careless.ts', '--detach'])
  await until(() => log().includes('process.exit(3)'), 'it is at work')
  await kill()
  write('go', '')
  const { code, err } = await nerve(['server', 'start'])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  await until(async () => (await statuses())['careless'] === 'completed', 'it goes on')
})

/** Its file waits for something, for as long as there is a file \`wait\`. */
const waiting = `import { existsSync } from 'node:fs'
import { workflow } from 'nerve'
while (existsSync('wait')) await new Promise((resolve) => setTimeout(resolve, 20))
export default workflow('waiting', async (ctx) => {
  await ctx.step('hold', () => new Promise((resolve) => setTimeout(resolve, existsSync('go') ? 0 : 60_000)))
  return 'over'
})
`

test('a file that does not come to an end of loading holds up its own run, and neither the start, nor others, nor the end', async () => {
  const { nerve, write, kill, until, dir, log } = open({ 'waiting.ts': waiting, 'slow.ts': files.slow })
  await nerve(['run', 'waiting.ts', '--detach'])
  await nerve(['run', 'slow.ts', '--detach'])
  await until(() => log().includes('holding'), 'both run')
  await kill()
  for (const file of ['wait', 'go']) write(file, '')
  expect((await nerve(['server', 'start'])).code).toBe(0)
  await until(async () => (await statuses())['slow'] === 'completed', 'the other one goes on')
  expect(await statuses()).toEqual({ slow: 'completed', waiting: 'crashed' })
  await kill('SIGTERM')
  expect(log()).toMatch(/ ended\n$/)
  rmSync(join(dir, 'wait'))
  await nerve(['server', 'start'])
  await until(async () => (await statuses())['waiting'] === 'completed', 'it goes on when its file is loaded')
})

test('one that is told to end while it takes up what was left has time for the steps that run', async () => {
  const { nerve, start, write, kill, until, effects } = open({ 'waiting.ts': waiting, 'slow.ts': files.slow })
  await nerve(['run', 'waiting.ts', '--detach'])
  await nerve(['run', 'slow.ts', '--detach'])
  await until(() => effects().includes('hold'), 'the step runs')
  await kill()
  // The file of the other run holds up the start.
  write('wait', '')
  const next = start(['server', 'start', '--foreground'])
  await until(() => effects().filter((one) => one === 'hold').length === 2, 'the step runs again')
  next.child.kill('SIGTERM')
  write('go', '')
  expect(await next.ended).toMatchObject({ code: 0, err: expect.stringContaining('ends: SIGTERM') })
  expect(jsonLines((await nerve(['events', 'last', '--json'])).out)).toContainEqual(
    expect.objectContaining({ type: 'step-completed', path: 'hold' }),
  )
})

/** Tells that it is being loaded, and does not come to an end of that. */
const endless = `import { writeFileSync } from 'node:fs'
writeFileSync('loading', String(process.pid))
setInterval(() => undefined, 1_000)
await new Promise(() => undefined)
export default {}
`

test('one that does not come to the end of its start is not left behind by whoever gave up waiting for it', async () => {
  const { start, nerve, until, has, read, write } = open({ 'nerve.config.ts': endless })
  await nerve(['trust'])
  const starter = start(['server', 'start'])
  await until(() => has('loading') && read('loading') !== '', 'the project file is being loaded')
  starter.child.kill('SIGINT')
  await starter.ended
  await until(() => !isAlive(Number(read('loading'))), 'it has given up')
  write('nerve.config.ts', 'export default {}')
  expect(await nerve(['server', 'start'])).toMatchObject({ code: 0, out: expect.stringContaining(': started') })
})

test('a file among the workflows that does not come to an end of loading keeps nobody from the others', async () => {
  const { nerve, write, dir, client } = open({})
  mkdirSync(join(dir, 'workflows'))
  write('wait', '')
  write('workflows/a.ts', waiting)
  write('workflows/b.ts', files.greet)
  const env = { NERVE_TRUST: '1' }
  await nerve(['server', 'start'], { env })
  const near = await client()
  expect((await near.definitions()).map(({ name }) => name)).toEqual(['greet'])
  expect(await (await near.runs.start('greet', 'Ada')).result()).toMatchObject({ input: 'Ada' })
  await expect(near.runs.start('waiting')).rejects.toThrow('could not be loaded: nerve workflow list says why')
  const listed = JSON.parse((await nerve(['workflow', 'list', '--json'], { env })).out)
  expect(listed).toMatchObject({
    definitions: [{ name: 'greet' }],
    problems: [{ source: expect.stringContaining('a.ts'), message: expect.stringContaining('takes more than') }],
  })
  rmSync(join(dir, 'wait'))
  await expect.poll(async () => (await near.definitions()).map(({ name }) => name)).toEqual(['greet', 'waiting'])
})

test('nerve resume --all tells what the daemon drives, and what it could not take up', async () => {
  const { nerve, kill, until, dir, log } = open({ 'waiting.ts': waiting, 'slow.ts': files.slow })
  for (const file of ['waiting.ts', 'slow.ts']) await nerve(['run', file, '--detach'])
  await until(() => log().includes('holding'), 'both run')
  await kill()
  rmSync(join(dir, 'waiting.ts'))
  await nerve(['server', 'start'])
  const { code, out } = await nerve(['resume', '--all', '--json'])
  expect({ code, told: jsonLines(out) }).toMatchObject({
    code: 1,
    told: [
      { type: 'driven', definition: 'slow' },
      { type: 'left', reason: expect.stringContaining('nerve server logs') },
    ],
  })
})

test('a daemon that has ended is started by the next thing that a model asks', async () => {
  const { nerve, start } = open({})
  await nerve(['server', 'start'])
  const mcp = start(['mcp'])
  const send = (message: object): void =>
    void mcp.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const clientInfo = { name: 'test', version: '1' }
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
  await mcp.shown('"id":1')
  await nerve(['server', 'stop'])
  send({ method: 'notifications/initialized' })
  send({ id: 2, method: 'tools/call', params: { name: 'runs_list', arguments: {} } })
  const answers = jsonLines(await mcp.shown('"id":2'))
  expect(answers.find(({ id }) => id === 2)?.result).not.toMatchObject({ isError: true })
  mcp.child.kill()
})

test('nobody notices a daemon that ends because nobody needs it, however soon it does', async () => {
  const { dir } = open({})
  const command: DaemonCommand = [program, ...rest, 'server', 'start', '--foreground', '--dir', dir, '--idle=1ms']
  for (let i = 0; i < 8; i += 1) {
    const { client } = await ensureDaemon(dir, command)
    expect(await client.runs.list()).toEqual([])
    await client.close()
  }
})

test('why a daemon has not started is heard, also after the news that its process has ended', async () => {
  const { dir, write } = open({})
  // Says it when its end has been noticed: another one runs, and then that something is wrong.
  const said = (code: string): string =>
    JSON.stringify({ error: { name: 'NerveError', code, message: 'no', data: {} } })
  write(
    'late.sh',
    `[ -e tried ] && said='${said('bad-option')}' || said='${said('owned-elsewhere')}'
touch tried
(while kill -0 $$ 2>/dev/null; do :; done; eval "printf '%s\\n' '$said' >&$NODE_CHANNEL_FD") &
exit 1
`,
  )
  await expect(ensureDaemon(dir, ['sh', join(dir, 'late.sh')])).rejects.toMatchObject({ code: 'bad-option' })
})

test('a client waits for more runs at once than a connection has room for', async () => {
  const { nerve } = open({ 'asking.ts': files.asking })
  const { run } = JSON.parse((await nerve(['run', 'asking.ts', '--detach', '--json'])).out) as { run: string }
  const client = await here.client()
  const results = Promise.all(Array.from({ length: 600 }, () => client.run(run).result()))
  for (const value of ['publish', 'Ada']) {
    await here.until(async () => (await client.questions.list()).length > 0, 'it asks')
    await client.questions.answer((await client.questions.list())[0]?.id ?? '', value)
    await here.until(async () => (await client.questions.list())[0]?.prompt !== 'Publish?', 'it goes on')
  }
  expect(new Set((await results).map((one) => JSON.stringify(one))).size).toBe(1)
})

test('a newer command leaves an older daemon to the terminals that live in it', async () => {
  const { nerve, until, record, dir } = open({})
  const worker = fileURLToPath(new URL('old-daemon.ts', import.meta.url))
  const old = spawn(process.execPath, ['--conditions=nerve-source', worker, dir], { cwd: dir, stdio: 'ignore' })
  ends.push(() => old.kill('SIGKILL'))
  await until(() => record() !== undefined, 'the old one listens')
  const client = await here.client()
  await client.call('nodes.create', { config: { kind: 'terminal', id: 'shell' } })
  await client.call('nodes.start', { node: 'shell' })
  const busy = await nerve(['ps', '--json'])
  expect(busy.err).toMatch(/The daemon is of version 0\.0\.1.*live in it/)
  expect(record()?.pid).toBe(old.pid)
  await client.call('nodes.stop', { node: 'shell' })
  await client.close()
  expect((await nerve(['ps', '--json'])).err).toContain('The daemon was of version 0.0.1')
})
