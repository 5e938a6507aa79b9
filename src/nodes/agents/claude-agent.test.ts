import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import type { AgentSession } from './adapter.ts'
import { claudeAgent } from './claude-agent.ts'

/** What the double of the SDK has started. */
interface Started {
  readonly say: (message: object) => void
  readonly isClosed: () => boolean
}
const started: Started[] = []

/** A double of the SDK: its messages are what the test says. */
const SDK = `export function query() {
  const [messages, news] = [[], []]
  let closed = false
  globalThis.startedByClaude.push({
    say: (message) => (news.length > 0 ? news.shift()({ value: message, done: false }) : messages.push(message)),
    isClosed: () => closed,
  })
  return {
    close: () => (closed = true),
    interrupt: async () => undefined,
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise((done) => (messages.length > 0 ? done({ value: messages.shift(), done: false }) : news.push(done))),
    }),
  }
}`

beforeEach(() => {
  started.length = 0
  Object.assign(globalThis, { startedByClaude: started })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

async function resumed(): Promise<AgentSession> {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-claude-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const sdk = join(dir, 'sdk.mjs')
  writeFileSync(sdk, SDK)
  return claudeAgent({ sdk }).open({
    cwd: dir,
    env: {},
    resume: { agent: 'claude', id: 'one', cwd: dir },
    permission: async () => ({ allow: true }),
    question: async () => ({ refused: 'nobody' }),
    started: () => undefined,
  })
}

async function endOf(parts: AsyncIterable<unknown> | undefined): Promise<unknown> {
  let last: unknown
  for await (const part of parts ?? []) last = part
  return last
}

it('a turn that goes on soon after another one has its own time to ask again', async () => {
  const session = await resumed()
  const first = endOf(session.proceed?.())
  started[0]?.say({ type: 'result', subtype: 'success', terminal_reason: 'tool_deferred', result: '' })
  expect(await first).toMatchObject({ type: 'turn-end', reason: 'deferred' })
  await vi.advanceTimersByTimeAsync(3_000)
  const second = endOf(session.proceed?.())
  await vi.advanceTimersByTimeAsync(3_000)
  expect(started.map(({ isClosed }) => isClosed())).toEqual([true, false])
  started[1]?.say({ type: 'result', subtype: 'success', result: 'done' })
  expect(await second).toMatchObject({ type: 'turn-end', reason: 'done', text: 'done' })
  await session.close()
})

it('a turn in which nothing is asked again within its time has failed', async () => {
  const session = await resumed()
  const end = endOf(session.proceed?.())
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await end).toMatchObject({ type: 'turn-end', reason: 'error' })
  expect(started.map(({ isClosed }) => isClosed())).toEqual([true])
})
