/** `nerve ps`, and which runs it lists. */
import { afterEach, expect, test } from 'vitest'
import { project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

let here: Project
afterEach(() => here.remove())

test('lists only runs of a status, or of a definition', async () => {
  here = project({ 'greet.ts': files.greet, 'failing.ts': files.failing, 'asking.ts': files.asking })
  const { nerve } = here
  for (const file of ['greet.ts', 'failing.ts', 'asking.ts', 'greet.ts']) await nerve(['run', file])
  const listed = async (...words: string[]): Promise<string[]> => {
    const { code, out } = await nerve(['ps', '--json', ...words])
    expect(code).toBe(0)
    return (JSON.parse(out) as { definition: string }[]).map(({ definition }) => definition)
  }
  expect(await listed()).toEqual(['greet', 'asking', 'failing', 'greet'])
  expect(await listed('--status', 'failed,waiting')).toEqual(['asking', 'failing'])
  expect(await listed('--status', 'failed', '--status', 'completed')).toEqual(['greet', 'failing', 'greet'])
  expect(await listed('--status', 'completed', '--limit', '1')).toEqual(['greet'])
  expect(await listed('--definition', 'asking')).toEqual(['asking'])
  expect(await listed('--definition', 'asking', '--status', 'failed')).toEqual([])
  expect((await nerve(['ps', '--status', 'failed'])).out).toMatch(/failing {2}failed/)
  expect((await nerve(['ps', '--status', 'paused'])).out).toMatch(/^No run here is paused\./)
  expect((await nerve(['ps', '--definition', 'none'])).out).toMatch(/^No run here is of the definition none\./)
  const wrong = await nerve(['ps', '--status', 'wating'])
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("--status: 'wating'. Did you mean 'waiting'?") })
})

test('what a dead process left is crashed, and running no more', async () => {
  here = project({ 'slow.ts': files.slow })
  const running = here.start(['run', 'slow.ts'])
  await running.shown('holding')
  const rows = async (status: string): Promise<number> =>
    (JSON.parse((await here.nerve(['ps', '--json', '--status', status])).out) as unknown[]).length
  expect([await rows('running'), await rows('crashed')]).toEqual([1, 0])
  running.child.kill('SIGKILL')
  await running.ended
  expect([await rows('running'), await rows('crashed')]).toEqual([0, 1])
})
