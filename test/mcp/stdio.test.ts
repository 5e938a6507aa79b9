/** `nerve mcp`, the real process, with the official client. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it, onTestFinished } from 'vitest'
import { COMMAND, project, type Project } from '../cli/nerve.ts'
import { ERAS, dataOf, officialClient, textOf, tool, type Asking, type ClientOptions } from './surface-under-test.ts'

const NODE_COMPILE_CACHE = join(tmpdir(), 'nerve-cli-compile-cache')

/** Prints where it should not: stdout belongs to the protocol. */
const CONFIG = `
import { workflow } from 'nerve'
import { bash } from 'nerve/nodes'
import { jsonSchema } from 'nerve/spec'
console.log('the project file was loaded')
const input = jsonSchema({ type: 'object', properties: { file: { type: 'string' } }, required: ['file'] })
const publish = workflow('publish', { description: 'Publishes a file', input }, async (ctx, { file }) => {
  await ctx.step('talk', () => { console.log('a step prints'); process.stdout.write('and writes\\n') })
  return file + ': ' + (await ctx.ask('Publish ' + file + '?', { label: 'ok', choices: ['yes', 'no'] }))
})
export default { nodes: [publish, bash('greet', { command: 'echo hello' })] }
`

function open(): Project {
  const made = project({ 'nerve.config.ts': CONFIG })
  onTestFinished(made.remove)
  return made
}

interface Connected {
  readonly client: Client
  readonly asked: Asking[]
  readonly pid: number
  readonly said: () => string
}

async function connect(dir: string, args: readonly string[], options: ClientOptions): Promise<Connected> {
  const [command = '', ...first] = COMMAND
  const env = { ...(process.env as Record<string, string>), NERVE_TRUST: '1', NERVE_LOCAL: '1', NODE_COMPILE_CACHE }
  const transport = new StdioClientTransport({
    command,
    args: [...first, 'mcp', ...args],
    cwd: dir,
    env,
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (piece: Buffer) => (said += piece.toString()))
  const { client, asked } = officialClient(options)
  await client.connect(transport)
  return { client, asked, pid: transport.pid ?? 0, said: () => said }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe.each(ERAS)('%s', (era) => {
  it('a run is started, asks in the client, and ends; its workflow is a tool', async () => {
    const { dir } = open()
    const { client, asked, pid, said } = await connect(dir, ['--expose', 'all'], {
      era,
      fill: () => ({ answer: 'yes' }),
    })
    const done = await tool(client, 'publish', { file: 'a.md' })
    expect(textOf(done)).toBe('a.md: yes')
    expect(asked).toMatchObject([{ message: 'Publish a.md?' }])
    const journal = dataOf(await tool(client, 'runs_journal', { run: dataOf(done).run }))
    expect(journal).toContainEqual(expect.objectContaining({ type: 'question-answered', value: 'yes', via: 'mcp' }))
    for (const printed of ['the project file was loaded', 'a step prints', 'and writes'])
      expect(said()).toContain(printed)
    await client.close()
    await expect.poll(() => isAlive(pid)).toBe(false)
  })
})

it('a run outlives its client: the next one answers its question', async () => {
  const { dir } = open()
  const first = await connect(dir, [], { era: 'handshake' })
  const begun = dataOf(
    await tool(first.client, 'runs_start', { definition: 'publish', input: { file: 'a.md' }, wait: true }),
  )
  expect(begun).toMatchObject({ ended: false, questions: [{ prompt: 'Publish a.md?' }] })
  await first.client.close()
  const { client } = await connect(dir, [], { era: 'handshake', fill: () => ({ answer: 'no' }) })
  expect(dataOf(await tool(client, 'runs_wait', { run: begun.run }))).toMatchObject({ output: 'a.md: no' })
})

it('nodes are made, listed, executed, copied and stopped', async () => {
  const { dir } = open()
  const { client } = await connect(dir, [], { era: 'handshake' })
  const made = { kind: 'terminal', id: 'sh' }
  expect(dataOf(await tool(client, 'nodes_create', { config: made }))).toMatchObject({ node: 'sh' })
  const names = dataOf(await tool(client, 'nodes_list')).map(({ name }: { name: string }) => name)
  expect(names).toEqual(expect.arrayContaining(['greet', 'sh']))
  expect(textOf(await tool(client, 'nodes_execute', { node: 'greet' }))).toContain('hello')
  expect(textOf(await tool(client, 'nodes_execute', { node: 'sh', input: 'echo one' }))).toContain('one')
  expect(dataOf(await tool(client, 'nodes_fork', { node: 'sh', as: 'copy' }))).toMatchObject({ node: 'copy' })
  expect(dataOf(await tool(client, 'nodes_stop', { node: 'copy' }))).toMatchObject({ node: 'copy' })
  expect(dataOf(await tool(client, 'nodes_execute', { node: 'greet', wait: false }))).toEqual({
    run: expect.any(String),
  })
})

it('with --read-only nothing can be changed', async () => {
  const { dir } = open()
  const { client } = await connect(dir, ['--read-only', '--expose', 'publish'], { era: 'handshake' })
  const { tools } = await client.listTools()
  expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([])
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['runs_list', 'runs_wait', 'questions_list']))
})

it('what is wrong with the call is told at once, on stderr', async () => {
  const { nerve } = open()
  const trusted = { env: { NERVE_TRUST: '1' } }
  expect(await nerve(['mcp', '--expose', 'publis'], trusted)).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining("Did you mean 'publish'?"),
  })
  expect(await nerve(['mcp', '--wait', '11m'], trusted)).toMatchObject({ code: 2, err: expect.stringContaining('10m') })
  expect(await nerve(['mcp'])).toMatchObject({ code: 2, out: '', err: expect.stringContaining('nerve trust') })
})

it('workflows that nobody has trusted yet are no tools, and that is told', async () => {
  const { dir, nerve, write } = project({})
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(join(dir, 'workflows'))
  write('workflows/hello.ts', `import { workflow } from 'nerve'\nexport default workflow('hello', () => 'Hello')\n`)
  const told = await nerve(['mcp', '--expose', 'all'])
  expect({ code: told.code, err: told.err }).toEqual({ code: 0, err: expect.stringContaining('nerve trust') })
  expect((await nerve(['mcp', '--expose', 'all'], { env: { NERVE_TRUST: '1' } })).err).toBe('')
})
