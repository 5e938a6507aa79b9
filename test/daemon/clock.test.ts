/** The clock of the machine is set back while a daemon lives. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startDaemon } from '../../src/surfaces/daemon/daemon.ts'
import { Doorkeeper } from '../../src/surfaces/server/doorkeeper.ts'
import { openTokens } from '../../src/surfaces/server/tokens.ts'

const DAY_MS = 86_400_000

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'nerve-clock-'))
  onTestFinished(() => {
    vi.useRealTimers()
    rmSync(made, { recursive: true, force: true })
  })
  return made
}

test('one that nobody needs ends all the same', async () => {
  const said: unknown[] = []
  const say = (what: unknown): void => void said.push(what)
  const daemon = await startDaemon({ dir: folder(), version: '1.0.0', idle: 100, say, onProblem: say })
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - DAY_MS })
  await daemon.ended
  expect(said).toContain('ends: nobody needed it')
})

test('a token that is revoked is refused within a second all the same, on connections that are open', () => {
  const tokens = openTokens(join(folder(), 'tokens.json'))
  const { secret } = tokens.create('phone', 'read')
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  const visitor = new Doorkeeper({ tokens }).withToken(secret, '127.0.0.1', 'http')
  tokens.revoke('phone')
  vi.setSystemTime(Date.now() - DAY_MS)
  vi.advanceTimersByTime(1_001)
  expect(visitor.isWelcome()).toBe(false)
})
