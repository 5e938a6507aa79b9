/** The inspector of the MCP project in its command-line mode: a process of its own for each call, and so a `nerve mcp` each time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { COMMAND, project } from '../cli/nerve.ts'

const INSPECTOR = join(
  ...[import.meta.dirname, '..', '..', 'vendors', 'node_modules', '@modelcontextprotocol', 'inspector'],
  ...['clients', 'launcher', 'build', 'index.js'],
)

const CONFIG = `
import { workflow } from 'nerve'
const publish = workflow('publish', async (ctx) => 'ok: ' + (await ctx.ask('Publish?', { label: 'ok', choices: ['yes', 'no'] })))
export default { nodes: [publish] }
`

interface Inspected {
  readonly code: number
  // oxlint-disable-next-line no-explicit-any -- tests look into what the inspector printed
  readonly result: any
  readonly err: string
}

function inspector(dir: string): (...words: readonly string[]) => Promise<Inspected> {
  const cache = `NODE_COMPILE_CACHE=${join(tmpdir(), 'nerve-cli-compile-cache')}`
  const server = [
    '-e',
    'NERVE_TRUST=1',
    '-e',
    'NERVE_LOCAL=1',
    '-e',
    cache,
    ...COMMAND,
    'mcp',
    '--dir',
    dir,
    '--expose',
    'all',
  ]
  return async (...words) => {
    const args = [INSPECTOR, '--cli', ...server, '--format', 'json', '--quiet', ...words]
    const child = spawn(process.execPath, args, { cwd: dir, env: { ...process.env, HOME: dir } })
    onTestFinished(() => void child.kill('SIGKILL'))
    let [out, err] = ['', '']
    child.stdout.on('data', (piece: Buffer) => (out += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (err += piece.toString()))
    const [code] = (await once(child, 'close')) as [number]
    return { code, err, result: out === '' ? undefined : JSON.parse(out) }
  }
}

it('drives a run with a question to its end, and finds nothing wrong with the tools', async () => {
  const { dir, remove } = project({ 'nerve.config.ts': CONFIG })
  onTestFinished(remove)
  const inspect = inspector(dir)
  const call = async (name: string, input: object) => {
    const words = ['--tool-name', name, '--tool-args-json', JSON.stringify(input)]
    const { result, err } = await inspect('--method', 'tools/call', ...words)
    expect(err).toBe('')
    return result.structuredContent ?? result.result?.structuredContent
  }
  const [tools, begun] = await Promise.all([
    inspect('--method', 'tools/list', '--strict'),
    call('runs_start', { definition: 'publish', wait: true }),
  ])
  expect(tools).toMatchObject({ code: 0 })
  expect(JSON.stringify(tools.result)).toContain('"publish"')
  expect(begun).toMatchObject({ status: 'waiting', questions: [{ prompt: 'Publish?' }] })
  expect(await call('questions_answer', { question: begun.questions[0].id, value: 'yes' })).toEqual({ ok: true })
  expect(await call('runs_wait', { run: begun.run })).toMatchObject({ ended: true, output: 'ok: yes' })
})
