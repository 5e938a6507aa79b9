/** `npm start`, as a machine sees it. */
import { spawn } from 'node:child_process'
import { readdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

const MAIN = fileURLToPath(new URL('../../examples/tour/main.ts', import.meta.url))
const temporary = mkdtempSync(join(tmpdir(), 'nerve-tour-test-'))
afterEach(() => rmSync(temporary, { recursive: true, force: true }))

function tour(...args: string[]): Promise<{ readonly code: number | null; readonly out: string }> {
  const child = spawn(process.execPath, ['--conditions=nerve-source', MAIN, ...args], {
    env: { ...process.env, TMPDIR: temporary, TMP: temporary, TEMP: temporary },
  })
  let out = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (out += text))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out })))
}

test('the tour kills its worker, goes on, repeats nothing, completes, and cleans up', async () => {
  const [text, json] = await Promise.all([tour(), tour('--json')])
  expect(text).toMatchObject({ code: 0, out: expect.stringContaining('completed') })
  expect(text.out).toMatch(/killed: SIGKILL[^]*9 effects, 0 repeated/)
  expect(text.out).not.toContain('\u001B')
  expect(json.code).toBe(0)
  expect(JSON.parse(json.out)).toMatchObject({
    status: 'completed',
    effects: 9,
    repeated: 0,
    kept: 5,
    output: { answer: 'publish' },
  })
  expect(readdirSync(temporary).filter((name) => name.startsWith('nerve-tour-'))).toEqual([])
})
