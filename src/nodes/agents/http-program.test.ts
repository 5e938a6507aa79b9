import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { addressIn, HttpProgram } from './http-program.ts'

it.each([
  ['opencode server listening on http://127.0.0.1:4096\n', 'http://127.0.0.1:4096'],
  ['Warning: no password\r\nlistening on http://127.0.0.1:4096\r\nready\n', 'http://127.0.0.1:4096'],
  ['listening on http://127.0.0.1:40', undefined],
  ['listening on http://', undefined],
  ['listening on\nhttp://127.0.0.1:4096\n', undefined],
])('the address in %j', (said, address) => {
  expect(addressIn(said)).toBe(address)
})

it('is started once it has said all of its address, however it says it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-http-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'program.mjs')
  writeFileSync(
    file,
    `import { setImmediate } from 'node:timers/promises'
    for (const piece of 'listening on http://127.0.0.1:4096\\n') await setImmediate(process.stdout.write(piece))
    setInterval(() => {}, 1000)`,
  )
  const program = { name: 'x', command: process.execPath, args: () => [file], headers: {} }
  const started = await HttpProgram.start(program, { cwd: dir, env: {}, started: () => undefined })
  onTestFinished(() => started.close())
  expect(started.url).toBe('http://127.0.0.1:4096')
})
