/** The client over HTTP, in a place that has what browsers have and nothing of Node. */
import { runInNewContext } from 'node:vm'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { connectHttp, isNerveError } from 'nerve/client'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'

let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest()
})
afterAll(() => under.end())

it('drives a run, and reads its events', async () => {
  const build = await rolldown({
    input: join(import.meta.dirname, '../../src/surfaces/client/http-client.ts'),
    platform: 'browser',
  })
  const { output } = await build.generate({ format: 'iife', name: 'nerve', codeSplitting: false })
  await build.close()
  expect(output).toHaveLength(1)
  const code = output[0].code
  expect(code).not.toMatch(/["']node:|require\(|zod/)
  const page = {
    fetch,
    URL,
    TextDecoder,
    AbortController,
    AbortSignal,
    setTimeout,
    clearTimeout,
    queueMicrotask,
    Error,
  }
  const nerve = runInNewContext(`${code}; nerve`, page) as {
    connectHttp: typeof connectHttp
    isNerveError: typeof isNerveError
  }
  const client = await nerve.connectHttp(under.url, under.token)
  const run = await client.runs.start('busy', 3)
  expect(await run.result()).toBe(3)
  const types: string[] = []
  for await (const { type } of run.events()) types.push(type)
  expect(types.at(-1)).toBe('run-completed')
  const wrong: unknown = await client.runs.get('nothing').catch((error: unknown) => error)
  expect(wrong).toMatchObject({ name: 'NerveError', code: 'not-found' })
  // The main door is not for pages: what errors are is said where they come from.
  expect([nerve.isNerveError(wrong, 'not-found'), nerve.isNerveError(wrong, 'not-allowed')]).toEqual([true, false])
  await client.close()
})
