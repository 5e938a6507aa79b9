/** A client that a generator made of the OpenAPI document, and nobody wrote: its types say what there is, and it works. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'

const run = promisify(execFile)
const modules = join(import.meta.dirname, '../../node_modules')
const folder = mkdtempSync(join(tmpdir(), 'nerve-generated-'))

let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest()
})
afterAll(async () => {
  await under.end()
  rmSync(folder, { recursive: true, force: true })
})

/** Drives a run to its end. */
const PROGRAM = `
import { ok } from '@oazapfts/runtime'
import { defaults, nodesCreate, questionsAnswer, questionsList, runsJournal, runsStart, runsWait, signalsSend } from './client.ts'

defaults.baseUrl = process.argv[2] ?? ''
defaults.headers = { authorization: 'Bearer ' + (process.argv[3] ?? '') }

const { run } = await ok(runsStart({ definition: 'review', input: { file: 'g' } }))
const waits = await ok(runsWait(run, { until: 'rest' }))
const asked = (await ok(questionsList())).find((one) => one.run === run)
if (asked === undefined) throw new Error('nothing was asked')
await ok(questionsAnswer({ question: asked.id, value: asked.choices?.[0] }))
await ok(signalsSend({ run, name: 'note', value: 'from a generated client' }))
const { output } = await ok(runsWait(run))
const events = (await ok(runsJournal(run))).map(({ seq }) => seq)
const refused = await runsStart({ definition: 'reveiw' })
const code = refused.status === 200 ? '' : (refused.data as { error: { code?: string } }).error.code
const local = await nodesCreate({ config: { kind: 'bash', id: 'x', command: 'true' } })
const reason = local.status === 403 ? local.data.error.data?.reason : undefined
console.log(JSON.stringify({ reason, waits: waits.status, prompt: asked.prompt, output, events, status: refused.status, code }))
`

/** What the types must refuse, and what they must know. */
const TYPES = `
import { ok } from '@oazapfts/runtime'
import { questionsList, runsCancel, runsGet, runsList, runsStart, usage, type Question, type Run } from './client.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
export const rows: Same<Awaited<ReturnType<typeof list>>, Run[]> = true
export const status: Same<Run['status'], string> = false
export const questions: Same<Awaited<ReturnType<typeof inbox>>, Question[]> = true
const list = () => ok(runsList({ status: ['running', 'waiting'], limit: 5 }))
const inbox = () => ok(questionsList())
export const spent = async (): Promise<number | undefined> => (await ok(usage())).usage.usd
export const prompts = async (): Promise<string[]> => (await inbox()).map(({ prompt }) => prompt)
export const made = async (): Promise<string> => (await ok(runsStart({ definition: 'x', budget: { usd: 1 } }))).run
// @ts-expect-error: there is no such status
export const wrongStatus = () => runsList({ status: ['eating'] })
// @ts-expect-error: a run is needed
export const noRun = () => runsGet()
// @ts-expect-error: dollars are a number
export const wrongBudget = () => runsStart({ definition: 'x', budget: { usd: 'much' } })
// @ts-expect-error: there is no such field
export const wrongField = () => runsCancel({ run: 'x', becauze: 'y' })
`

const TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
  },
  files: ['program.ts', 'types.ts'],
}

it('drives a run with a question to its end, and knows the types of what it gives and gets', async () => {
  const response = await fetch(`${under.url}/v1/openapi.json`, { headers: { authorization: `Bearer ${under.token}` } })
  const files = {
    'openapi.json': await response.text(),
    'package.json': '{"type":"module"}',
    'program.ts': PROGRAM,
    'types.ts': TYPES,
    'tsconfig.json': JSON.stringify(TSCONFIG),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  symlinkSync(modules, join(folder, 'node_modules'))
  const node = (...args: string[]) => run(process.execPath, args, { cwd: folder })
  await node(join(modules, 'oazapfts/dist/cli.js'), 'openapi.json', 'client.ts')
  const [checked, ran] = await Promise.all([
    node(join(modules, 'typescript/bin/tsc'), '-p', '.').catch((error: { stdout: string }) => error),
    node('program.ts', under.url, under.token),
  ])
  expect(checked.stdout).toBe('')
  expect(JSON.parse(ran.stdout)).toMatchObject({
    reason: 'local',
    waits: 'waiting',
    prompt: 'Publish draft of g?',
    output: { draft: 'draft of g', answer: 'yes', note: 'from a generated client' },
    events: [1, 2, 3, 4, 5, 6, 7, 8],
    status: 404,
    code: 'not-found',
  })
}, 30_000)
