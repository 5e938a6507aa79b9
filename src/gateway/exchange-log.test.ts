import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../base/ids.ts'
import { ExchangeLogger, readLog, type LoggedExchange } from './exchange-log.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'nerve-log-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

let now = 1_700_000_000_000
const exchange = (more: Partial<LoggedExchange> = {}): LoggedExchange => ({
  id: newId((now += 1)),
  at: now,
  durationMs: 1,
  format: 'anthropic',
  status: 200,
  ...more,
})

describe('the log', () => {
  it('keeps the newest in memory, and everything in its file, for its owner alone', async () => {
    const log = new ExchangeLogger({ folder, keep: 2 }, () => now)
    for (const model of ['a', 'b', 'c']) log.add(() => exchange({ model }))
    await log.flush()
    expect(log.recent.map(({ model }) => model)).toEqual(['b', 'c'])
    expect((await readLog(folder)).map(({ model }) => model)).toEqual(['a', 'b', 'c'])
    const [file = ''] = readdirSync(folder)
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
  })

  it('has no secrets and no long bodies', async () => {
    const secret = 'sk-ant-api03-abcdefghij0123456789'
    const log = new ExchangeLogger({ folder }, () => now)
    const reply = [{ type: 'text', text: `it is ${secret}` }]
    log.add(() =>
      exchange({ request: `${'x'.repeat(32_760)} ${secret}`, reply, failure: { kind: 'server', message: secret } }),
    )
    await log.flush()
    const [read] = await readLog(folder)
    expect(JSON.stringify(read)).not.toContain('sk-ant')
    expect(read).toMatchObject({ reply: [{ text: 'it is [redacted]' }], failure: { message: '[redacted]' } })
    expect(read?.request?.length).toBeLessThan(33_000)
  })

  it('is read from the files of several gateways in the order of time, without what was half written', async () => {
    const one = new ExchangeLogger({ folder }, () => now)
    const two = new ExchangeLogger({ folder }, () => now + 1)
    one.add(() => exchange({ model: 'a' }))
    two.add(() => exchange({ model: 'b' }))
    await one.flush()
    await two.flush()
    one.add(() => exchange({ model: 'c' }))
    await one.flush()
    for (const file of readdirSync(folder)) appendFileSync(join(folder, file), '{"id":"zz')
    expect((await readLog(folder)).map(({ model }) => model)).toEqual(['a', 'b', 'c'])
    expect(await readLog(join(folder, 'none'))).toEqual([])
  })

  it('throws old files away, and goes on when it cannot write', async () => {
    for (let i = 0; i < 20; i += 1) writeFileSync(join(folder, `exchanges-${newId(i)}.jsonl`), '')
    const problems: unknown[] = []
    const log = new ExchangeLogger({ folder, onProblem: (error) => problems.push(error) }, () => now)
    log.add(() => exchange())
    await log.flush()
    expect(readdirSync(folder)).toHaveLength(8)
    const blocked = new ExchangeLogger(
      { folder: join(folder, readdirSync(folder)[0] ?? ''), onProblem: (error) => problems.push(error) },
      () => now,
    )
    blocked.add(() => exchange())
    await blocked.flush()
    expect(problems).toHaveLength(1)
    expect(blocked.recent).toHaveLength(1)
  })
})
