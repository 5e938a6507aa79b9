/** `npm start -- agents`, as a machine sees it: with what is installed, and with nothing. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { agentNamed, missing, type AgentName } from '../agents/under-test.ts'

const START = fileURLToPath(new URL('../../examples/tour/start.ts', import.meta.url))
const temporary = mkdtempSync(join(tmpdir(), 'nerve-agents-test-'))
afterEach(() => rmSync(temporary, { recursive: true, force: true }))

function start(...args: string[]): Promise<{ readonly code: number | null; readonly out: string }> {
  const child = spawn(process.execPath, ['--conditions=nerve-source', START, 'agents', ...args], {
    env: { ...process.env, TMPDIR: temporary, TMP: temporary, TEMP: temporary },
  })
  let out = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (out += text))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out })))
}

test('three agents fix a test, a reviewer picks, and the fix is merged', { timeout: 90_000 }, async () => {
  const [none, json] = await Promise.all([start('--scripted'), start('--json')])
  expect(none).toMatchObject({ code: 0, out: expect.stringContaining('0 agents of vendors are found here') })
  expect(none.out).toMatch(/Merge the fix of scripted-1\?[^]*the tests of the repository pass/)
  expect(json.code, json.out).toBe(0)
  const wanted = (['codex', 'copilot', 'claude'] satisfies AgentName[]).filter(
    (name) => missing(agentNamed(name)) === undefined,
  )
  const said = JSON.parse(json.out) as { readonly agents: readonly string[] }
  expect(said).toMatchObject({ answer: 'merge', passes: true })
  expect(said.agents).toEqual(expect.arrayContaining(wanted))
  expect(said.agents).toHaveLength(3)
  expect(readdirSync(temporary).filter((name) => name.startsWith('nerve-agents-'))).toEqual([])
})
