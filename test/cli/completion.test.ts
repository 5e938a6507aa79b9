/** Completion: what is suggested, and that real shells take it. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { terminal, type TerminalNode } from 'nerve/terminal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS, GLOBAL_OPTIONS } from '../../src/surfaces/cli/command-table.ts'
import { suggestions, type Place } from '../../src/surfaces/cli/completion-words.ts'
import { nodeFactory } from '../../src/host/sessions/node-kinds.ts'
import { installed, until } from '../terminal/open.ts'
import { COMMAND, jsonLines, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

describe('what is suggested', () => {
  const table = { commands: COMMANDS, globals: GLOBAL_OPTIONS }
  const none = async () => []
  const words = async (...line: string[]) =>
    (await suggestions(line, { table, values: none })).map(({ value }) => value)

  test('commands, verbs and options, each once', async () => {
    expect(await words('ev')).toEqual(['events'])
    expect(await words('')).toEqual(expect.arrayContaining(['run', 'init', 'help']))
    expect(await words('--js')).toEqual(['--json'])
    expect(await words('--dir', 'x', 'ev')).toEqual(['events'])
    expect(await words('node', 'exe')).toEqual(['execute'])
    expect(await words('help', 'node', 'cre')).toEqual(['create'])
    expect(await words('run', 'f.ts', '--de')).toEqual(['--detach'])
    expect(await words('run', 'f.ts', '--detach', '--de')).toEqual([])
    expect(await words('run', '--param', 'a=b', '--pa')).toEqual(['--param'])
    expect(await words('run', '--own')).toEqual([])
    expect(await words('completion', 'z')).toEqual(['zsh'])
    expect(await words('node', 'create', 'x', '--kind', 'te')).toEqual(['terminal'])
    expect(await words('extract', '--parser=g')).toEqual(['--parser=gemini'])
    expect(await words('node', 'create', 'x', '--kind', '')).toEqual(nodeFactory.kinds())
    expect(await words('node', 'history', 'x', '--operation', 'i')).toEqual(['interrupt'])
    expect(await words('gateway', 'start', '--format', 'openai')).toEqual(['openai-chat', 'openai-responses'])
    expect(await words('gateway', 'start', '--provider', 'g')).toEqual(['glm', 'gemini'])
    expect(await words('nonsense', '')).toEqual([])
    expect(await words('run', '--', '--de')).toEqual([])
  })

  test('places are told by the usage of a command, with what stands before them', async () => {
    const asked: Place[] = []
    const ask = (...line: string[]) => suggestions(line, { table, values: async (place) => (asked.push(place), []) })
    await ask('answer', 'q-1', 'pu')
    await ask('fork', '--dir', 'there', 'last', '--at', 'w')
    await ask('node', 'execute', '')
    expect(asked).toEqual([
      { word: 'VALUE', command: 'answer', words: ['q-1'], current: 'pu' },
      { word: 'PATH', command: 'fork', option: 'at', words: ['last'], current: 'w', dir: 'there' },
      { word: 'NAME', command: 'node execute', words: [], current: '' },
    ])
  })
})

/** A name that a shell must not take for anything else. */
const EVIL = "zz;$(touch pwned)'`.ts"

describe('in a project', () => {
  let here: Project
  let question: { id: string; run: string }
  beforeAll(async () => {
    here = project({ 'asking.ts': files.asking })
    mkdirSync(join(here.dir, 'my flows'))
    writeFileSync(join(here.dir, 'my flows', 'greet.ts'), files.greet)
    writeFileSync(join(here.dir, 'my flows', 'notes.md'), '')
    writeFileSync(join(here.dir, EVIL), '')
    const lines = jsonLines((await here.nerve(['run', 'asking.ts', '--json'])).out)
    question = lines.at(-1).questions[0]
    await here.nerve(['node', 'create', 'build', '--kind', 'bash'])
    const bin = join(here.dir, 'bin')
    mkdirSync(bin)
    // Says what it was called with, but for completion, which is the real thing.
    const real = COMMAND.map((word) => `'${word}'`).join(' ')
    writeFileSync(
      join(bin, 'nerve'),
      `#!/bin/sh\n[ "$1" = completion ] && exec ${real} "$@"\nprintf '[%s]' "$@"; echo .\n`,
    )
    chmodSync(join(bin, 'nerve'), 0o755)
  })
  afterAll(() => here.remove())

  test('values are those of the project', async () => {
    const words = async (...line: string[]) =>
      (await here.nerve(['completion', 'words', '--', ...line])).out.split('\n')
    expect(await words('answer', '')).toEqual(['last\tPublish this?', `${question.id}\tasking: Publish this?`, ''])
    expect(await words('answer', 'last', '')).toEqual(['publish', 'revise', ''])
    expect(await words('show', question.run.slice(0, 5))).toEqual([`${question.run}\tasking waiting`, ''])
    expect(await words('node', 'execute', '')).toEqual(['build\tbash in default', ''])
    expect(await words('node', 'list', '--session', '')).toEqual(['default', ''])
    expect(await words('token', 'revoke', '')).toEqual([''])
    expect(here.has('.nerve/tokens.json')).toBe(false)
    await here.nerve(['token', 'create', 'phone', '--scope', 'read'])
    expect(await words('token', 'revoke', 'ph')).toEqual(['phone\tread', ''])
    expect(await words('token', 'create', '')).toEqual([''])
    expect(await words('fork', 'last', '--at', 'be')).toEqual(['before', ''])
    expect(await words('run', 'my flows/')).toEqual(['my flows/greet.ts', ''])
    expect(await words('run', 'no/such/')).toEqual([''])
    expect(await words('call', 'runs.pa')).toEqual(['runs.pause\tPause a run', ''])
    expect(await words('call', 'runs.pause', '')).toEqual([''])
    expect(await words('ps', '--dir', 'my')).toEqual(['my flows/', ''])
    const { out } = await here.nerve(['completion', 'words', '--json', '--', 'answer', 'last', 'p'])
    expect(JSON.parse(out)).toEqual([{ value: 'publish' }])
  })

  test('a project file that nobody trusts is not run by a key', async () => {
    here.write('nerve.config.ts', `throw new Error('ran')`)
    const { code, out, err } = await here.nerve(['completion', 'words', '--', 'node', 'execute', ''])
    here.write('nerve.config.ts', `export default {}`)
    expect({ code, out, err }).toEqual({ code: 0, out: 'build\tbash in default\n', err: '' })
  })

  const SETUP = {
    bash: ['source <(nerve completion bash)'],
    zsh: ['autoload -Uz compinit', 'compinit -u -D', 'source <(nerve completion zsh)'],
    fish: ['nerve completion fish | source'],
  } as const

  for (const command of ['bash', 'zsh', 'fish'] as const) {
    const missing = !installed(command)
    test.skipIf(missing)(`${command} completes${missing ? ' (skipped: it is not installed here)' : ''}`, async () => {
      const shell = terminal(`completing-${command}`, {
        command,
        cwd: here.dir,
        timeout: '30s',
        cols: 200,
        env: { PATH: `${join(here.dir, 'bin')}${delimiter}${process.env['PATH'] ?? ''}` },
      })
      try {
        await shell.start()
        for (const line of SETUP[command]) expect(await shell.execute(line)).toMatchObject({ exitCode: 0 })
        const types = (keys: string, called: string): Promise<void> => typed(shell, keys, called)
        await types('nerve ev\tlast', '[events][last]')
        await types('nerve node exe\tbui\t', '[node][execute][build]')
        await types('nerve run --det\tx', '[run][--detach][x]')
        await types(`nerve show ${question.run.slice(0, 8)}\t`, `[show][${question.run}]`)
        await types(`nerve answer ${question.id.slice(0, 8)}\tpub\t`, `[answer][${question.id}][publish]`)
        await types('nerve run my\tgr\t', '[run][my flows/greet.ts]')
        await types('nerve run zz\t', `[run][${EVIL}]`)
        expect(here.has('pwned')).toBe(false)
        await types('nerve extract --parser=ge\t', '[extract][--parser=gemini]')
        await types('nerve call gateway.\t--sch\t', '[call][gateway.status][--schema]')
      } finally {
        await shell.stop()
      }
    })
  }
})

/** Types, and waits for what `nerve` says that it was called with. */
async function typed(shell: TerminalNode, keys: string, called: string): Promise<void> {
  await shell.write(`${keys}\r`)
  await until(shell, () => shell.readTail(50).includes(`${called}.`))
}
