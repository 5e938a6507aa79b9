/** `nerve ralph` as people call it, with Codex itself on a scripted model on loopback: killed while it builds, and taken up. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createGateway, scripted, type Gateway, type ScriptFunction, type ScriptStep } from 'nerve/gateway'
import { jsonLines, project } from '../cli/nerve.ts'
import { untilNone } from './killed.ts'
import { agentNamed, missing, ROOT } from './under-test.ts'

const codex = agentNamed('codex')
const lacks = missing(codex)
if (lacks !== undefined) console.warn(`SKIPPED: Ralph on a real agent is killed: codex is ${lacks}`)

/** A feature, and in the tests what shows it. */
const built = (name: string): string => `echo ${name} >> built; echo 'grep -qx ${name} built || exit 1' >> test.sh`

/** What the model does, by what it is told: the first entry whose words are in it. Each has a step for each reply. */
const SAID: readonly (readonly [words: string, ...steps: ScriptStep[]])[] = [
  ['# Research', { say: 'The folder has nothing but tests.' }],
  ['# Spec', { say: 'There are one and two.' }],
  ['# Features', { say: '[{ "id": "one", "text": "there is one" }, { "id": "two", "text": "there is two" }]' }],
  ['# Implement: one', { call: { sh: built('one') } }, { say: 'one is built' }],
  // Ends when the test says so: before that, the command is killed in it.
  [
    '# Implement: two',
    { call: { sh: `touch began; while [ ! -e go ]; do sleep 0.1; done; ${built('two')}` } },
    { say: 'two is built' },
  ],
]

describe('nerve ralph on a real agent', { timeout: 120_000, skip: lacks !== undefined }, () => {
  let gateway: Gateway
  let home = ''
  /** All that the model was shown of what it is told, with every new prompt. */
  const told: string[] = []

  /** By the newest prompt: after a turn that was broken off it comes beside what the tools of that turn gave. */
  const follow: ScriptFunction = ({ tools, messages }) => {
    if (tools.length === 0) return { say: 'A title' }
    const said = messages.map(({ role, parts }) =>
      role === 'user' ? parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : '',
    )
    const at = said.findLastIndex((text) => text !== '')
    const user = said[at] ?? ''
    const step = messages.slice(at).filter(({ role }) => role === 'assistant').length
    if (step === 0) told.push(said.join('\n'))
    const [, ...steps] = SAID.find(([words]) => user.includes(words)) ?? ['']
    return steps[step] ?? { say: 'nothing to do' }
  }

  beforeAll(async () => {
    mkdirSync(join(ROOT, 'coverage'), { recursive: true })
    home = mkdtempSync(join(ROOT, 'coverage', 'ralph-'))
    gateway = await createGateway({ backend: scripted(follow) })
  })

  afterAll(async () => {
    await gateway.close()
    rmSync(home, { recursive: true, force: true })
  })

  /** What a user of Codex has: it on the PATH, a key, and in its settings which model it asks. */
  function environment(): NodeJS.ProcessEnv {
    const { token } = gateway.token()
    const { CODEX_HOME = '', ...env } = codex.env({ home, gateway: { url: gateway.url, token } })
    const settings = join(CODEX_HOME, 'config.toml')
    const provider = {
      name: 'scripted',
      base_url: `${gateway.url}/v1`,
      env_key: 'OPENAI_API_KEY',
      wire_api: 'responses',
    }
    const fields = Object.entries(provider).map(([name, value]) => `${name} = "${value}"`)
    const before = ['model_provider = "scripted"', readFileSync(settings, 'utf8')]
    const features = ['[features]', ...['plugins', 'apps', 'remote_plugin'].map((name) => `${name} = false`)]
    const own = ['[model_providers.scripted]', ...fields, 'supports_websockets = false', ...features]
    writeFileSync(settings, [...before, ...own, ''].join('\n'))
    const PATH = [dirname(codex.file), env['PATH']].join(delimiter)
    return { ...env, PATH, CODEX_HOME, OPENAI_API_KEY: token }
  }

  it('survives kill -9 while it builds a feature, and builds no finished one again', async () => {
    const { dir, start, write, read, has, until, remove } = project({ 'test.sh': '' })
    onTestFinished(remove)
    const env = environment()
    const work = [
      'ralph',
      'Build it.',
      '--agent',
      'codex',
      '--model',
      codex.model ?? '',
      '--test',
      'sh test.sh',
      '--yes',
    ]
    const running = start(work, env)
    await until(() => has('began') || running.child.exitCode !== null, 'the second feature')
    expect([running.child.exitCode, read('built')]).toEqual([null, 'one\n'])
    running.child.kill('SIGKILL')
    await running.ended
    await untilNone(dir)

    write('go', '')
    const { out } = await start(['resume', '--all', '--json'], env).ended
    expect(jsonLines(out).at(-1)).toMatchObject({
      status: 'completed',
      output: {
        stopped: 'tests-pass',
        turns: 2,
        features: [
          { id: 'one', status: 'passes', attempts: 1 },
          { id: 'two', status: 'passes', attempts: 1 },
        ],
      },
    })
    const ran = jsonLines(out).flatMap(({ type, path }) => (type === 'step-completed' ? [path] : []))
    expect(ran).toEqual(['turn-2/implement', 'turn-2/test'])
    expect(read('built')).toBe('one\ntwo\n')
    expect(told.at(-1)).toMatch(/# Implement: two[^]*You were interrupted[^]*# Implement: two/)
    await untilNone(dir)
  })
})
