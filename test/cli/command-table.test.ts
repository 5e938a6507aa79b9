/** What holds for every command there is, by going over the table of commands. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { parseArguments } from '../../src/surfaces/cli/arguments.ts'
import { verbOf, type CommandSpec } from '../../src/surfaces/cli/command-spec.ts'
import { COMMANDS } from '../../src/surfaces/cli/command-table.ts'
import { commandHelp, helpData } from '../../src/surfaces/cli/help.ts'
import { HAS_TERMINAL, jsonLines, project, type Project } from './nerve.ts'

const ALL = COMMANDS.flatMap((command): readonly CommandSpec[] => [command, ...(command.verbs ?? [])])
const SINGLE = ALL.filter(({ verbs }) => verbs === undefined)

let here: Project | undefined
afterEach(() => {
  vi.unstubAllEnvs()
  here?.remove()
  here = undefined
})

test('there are many, each under its own name', () => {
  expect(SINGLE.length).toBeGreaterThan(50)
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length)
})

describe.each(ALL.map((spec) => [spec.name, spec] as const))('%s', (name, spec) => {
  test('has help with its usage, --json, an example of itself, and exit codes', () => {
    const help = commandHelp(spec)
    expect(help).toMatch(new RegExp(`^usage: nerve ${name}`))
    for (const part of ['--json', '\nexamples:\n', '\nexit codes: 0 done']) expect(help).toContain(part)
    for (const option of Object.keys(spec.options ?? {}).filter((one) => spec.options?.[one]?.hidden !== true))
      expect(help).toContain(`  --${option}`)
    expect(spec.examples.some(([command]) => command.includes(`nerve ${name}`))).toBe(true)
    for (const [, meaning] of spec.examples) expect(meaning).not.toBe('')
    expect(JSON.parse(JSON.stringify(helpData(spec)))).toMatchObject({ name, usage: expect.stringContaining(name) })
  })

  test('has help for a terminal of 28 columns', () => {
    vi.stubEnv('COLUMNS', '28')
    const lines = commandHelp(spec).split('\n')
    const commands = new Set(spec.examples.map(([command]) => `  ${command}`))
    // What is copied, and what has no space, cannot be broken.
    const wide = lines.filter((line) => line.length > 28 && !commands.has(line) && line.trim().includes(' '))
    expect(wide).toEqual([])
  })

  test('is in the table of what it prints with --json', () => {
    const page = readFileSync(new URL('../../docs/guide/cli.md', import.meta.url), 'utf8')
    const table = page.slice(page.indexOf('## JSON'))
    const [group = ''] = name.split(' ')
    const rest = name.includes(' ')
      ? [`the other verbs of \`${group}\``]
      : spec.verbs === undefined
        ? []
        : [`\`${group} `]
    expect([`\`${name}\``, ...rest].filter((words) => table.includes(words))).not.toEqual([])
  })
})

test.skipIf(spawnSync('bash', ['-c', 'true']).status !== 0)('examples can be typed as they are', () => {
  // What stands around a call does nothing; with no PATH, what is not known here would be told of.
  const idle = ['cat', 'cd', 'claude', 'codex', 'jq', 'source', 'tmux'].map((name) => `${name}() { :; }`)
  const examples = ALL.flatMap((spec) => spec.examples.map(([command]) => command.replace(/ > .*/, '')))
  const script = ['PATH=', `nerve() { printf '%s\\0' nerve: "$@" >&9; }`, ...idle, ...examples].join('\n')
  const typed = spawnSync('bash', ['-c', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe', 'ignore', 'ignore', 'ignore', 'ignore', 'ignore', 'ignore', 'pipe'],
  })
  expect(typed.stderr).toBe('')
  const calls = String(typed.output[9])
    .split('nerve:\0')
    .slice(1)
    .map((call) => call.split('\0').slice(0, -1))
  expect(calls.length).toBeGreaterThan(100)
  for (const [first = '', ...rest] of calls.filter(([word]) => word !== 'help')) {
    const command = COMMANDS.find(({ name }) => name === first)
    const spec = command?.verbs === undefined ? command : verbOf(command, rest.shift() ?? '')
    expect(() => parseArguments(spec!, rest), `${first} ${rest.join(' ')}`).not.toThrow()
  }
})

test('a call that makes no sense is a JSON error with --json, of every command', async () => {
  const { nerve } = (here = project())
  const wrong = async ({ name }: CommandSpec) => {
    const { code, out, err } = await nerve([...name.split(' '), '--no-such-option', '--json'])
    return { name, code, out, error: (JSON.parse(err) as { error: { code: string } }).error.code }
  }
  expect(await each(ALL, wrong)).toEqual(ALL.map(({ name }) => ({ name, code: 2, out: '', error: 'usage' })))
})

test('with --json every command prints JSON, or a JSON error, in a project with nothing in it', async () => {
  const { nerve } = (here = project())
  const called = await each(SINGLE, async ({ name, takes: [least] }) => {
    const words = Array.from({ length: least }, () => 'nope')
    const { code, out, err } = await nerve([...name.split(' '), ...words, '--json'])
    const shown = { name, code, printed: out !== '' }
    if (code === 0) return { ...shown, fine: jsonLines(out).length > 0 || name === 'repl' || err === '' }
    const said = out === '' ? jsonLines(err).map((line: { error?: unknown }) => line.error) : jsonLines(out)
    return { ...shown, fine: said.length === 1 && said[0] !== undefined }
  })
  expect(called.filter(({ fine }) => !fine)).toEqual([])
  expect(called.filter(({ code }) => code === null || code > 5)).toEqual([])
})

test('help as data, of one command and of all', async () => {
  const { nerve } = (here = project())
  const { commands, version } = JSON.parse((await nerve(['--help', '--json'])).out)
  expect(version).toMatch(/^\d/)
  expect(commands.map(({ name }: { name: string }) => name)).toEqual(COMMANDS.map(({ name }) => name))
  const one = JSON.parse((await nerve(['help', 'node', 'create', '--json'])).out)
  expect(JSON.parse((await nerve(['node', 'create', '--help', '--json'])).out)).toEqual(one)
  expect(one.options).toContainEqual({ name: 'kind', type: 'string', value: 'KIND', help: 'what it is' })
  expect(JSON.parse((await nerve(['help', 'nope', '--json'])).err)).toMatchObject({ error: { code: 'usage' } })
  expect(JSON.parse((await nerve(['node', '--json'])).err)).toMatchObject({ error: { code: 'usage' } })
})

test('help ends quietly when nobody reads it', async () => {
  const { start } = (here = project())
  const help = start(['help', 'run'])
  help.child.stdout?.destroy()
  expect(await help.ended).toMatchObject({ code: 0, err: '' })
})

test.skipIf(!HAS_TERMINAL)('the overview fits a narrow terminal, and has no colours', async () => {
  const { terminal } = (here = project())
  const { out } = await terminal(['--help'], [], { size: [28, 20] }).ended
  const lines = out.replaceAll('\r', '').split('\n')
  expect(lines.filter((line) => line.length > 28 && line.trim().includes(' '))).toEqual([])
  expect(out).not.toContain('\u001B')
})

/** A few at a time. */
async function each<Item, Value>(items: readonly Item[], work: (item: Item) => Promise<Value>): Promise<Value[]> {
  const found: Value[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) found[at] = await work(items[at]!)
  }
  await Promise.all([worker(), worker(), worker(), worker()])
  return found
}
