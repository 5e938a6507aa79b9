/** A trace of the system calls shows where agents connect to in the tests: to this machine, and nowhere else. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { agentNamed, missing } from './under-test.ts'

const AGENTS = (['codex', 'copilot', 'claude'] as const).filter((name) => missing(agentNamed(name)) === undefined)
const traces = spawnSync('strace', ['-V']).status === 0
if (!traces) console.warn('SKIPPED: where agents connect to is not traced, because strace is not installed')

it.skipIf(!traces || AGENTS.length === 0)('agents connect to loopback only', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-trace-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'calls')
  const worker = join(import.meta.dirname, 'turn-worker.ts')
  const { stdout } = spawnSync(
    'strace',
    [
      '-f',
      '-qq',
      '-e',
      'trace=connect,sendto',
      '-e',
      'signal=none',
      '-o',
      file,
      process.execPath,
      '--conditions=nerve-source',
      worker,
      ...AGENTS,
    ],
    { encoding: 'utf8' },
  )
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.trim()),
  ).toEqual(AGENTS.map((name) => `${name} done`))
  const addresses = [...readFileSync(file, 'utf8').matchAll(/inet_(?:addr\("|pton\(AF_INET6, ")([^"]+)"/g)].map(
    ([, one]) => one,
  )
  expect(addresses.length).toBeGreaterThan(0)
  expect([...new Set(addresses)].filter((one) => !/^127\.|^::1$/.test(one ?? ''))).toEqual([])
})
