/** `npm start`, as a machine sees it. */
import { spawn } from 'node:child_process'
import { readdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { HAS_TERMINAL } from './nerve.ts'

const MAIN = fileURLToPath(new URL('../../examples/tour/main.ts', import.meta.url))
const START = fileURLToPath(new URL('../../examples/tour/start.ts', import.meta.url))
const TERMINAL = fileURLToPath(new URL('terminal.py', import.meta.url))
const temporary = mkdtempSync(join(tmpdir(), 'nerve-tour-test-'))
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

interface Ended {
  readonly code: number | null
  readonly out: string
}

const tour = (args: readonly string[] = [], columns = 80): Promise<Ended> =>
  start(process.execPath, ['--conditions=nerve-source', MAIN, ...args], columns)

function start(program: string, args: readonly string[], columns = 80): Promise<Ended> {
  const child = spawn(program, args, {
    env: { ...process.env, TMPDIR: temporary, TMP: temporary, TEMP: temporary, COLUMNS: String(columns) },
  })
  let out = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (out += text))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out })))
}

test('the tour kills its worker, goes on, repeats nothing, completes, and cleans up', async () => {
  const [text, json] = await Promise.all([tour([], 28), tour(['--json'])])
  expect(text).toMatchObject({ code: 0, out: expect.stringContaining('completed') })
  const words = text.out.replaceAll(/\s+/g, ' ')
  expect(words).toMatch(/killed: SIGKILL.*7 effects and 5 calls of the model 'scripted', 0 repeated/)
  expect(words).toContain("May 'writer' use the tool 'publish'?")
  expect(text.out).not.toContain('\u001B')
  expect(text.out.split('\n').filter((line) => line.length > 28)).toEqual([])
  expect(json.code).toBe(0)
  expect(JSON.parse(json.out)).toMatchObject({
    status: 'completed',
    effects: 7,
    modelCalls: 5,
    repeated: 0,
    kept: 6,
    usage: { calls: 5, tokens: 3_500 },
    budget: { calls: 10, tokens: 20_000 },
    output: { text: 'Moss is green, and it grows in the shade.' },
  })
  expect(readdirSync(temporary).filter((name) => name.startsWith('nerve-tour-'))).toEqual([])
})

test.skipIf(!HAS_TERMINAL).each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])('%s at a question ends it, and leaves nothing behind', async (_name, key) => {
  const script = JSON.stringify([['    > ', key]])
  const command = [process.execPath, '--conditions=nerve-source', MAIN]
  const { code, out } = await start('python3', [TERMINAL, '80', '30', script, ...command])
  expect(out).not.toMatch(/Error|Warning/)
  expect(code).toBe(130 & 127)
  expect(readdirSync(temporary).filter((name) => name.startsWith('nerve-tour-'))).toEqual([])
})

test('a tour that there is not is told so', async () => {
  const { code, out } = await start(process.execPath, ['--conditions=nerve-source', START, 'nonsense'])
  expect({ code, out }).toEqual({ code: 2, out: expect.stringContaining("no tour 'nonsense'") })
})
