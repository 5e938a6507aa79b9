/** Projects that are moved or copied while runs are in them: each finds its own files, and believes in its own hosts. */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import * as files from '../cli/workflows.ts'
import { stage, type Stage } from './stage.ts'

let here: Stage
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  here.remove()
})

async function shown(run: string, dir = here.dir): Promise<Record<string, unknown>> {
  return JSON.parse((await here.nerve(['show', run, '--json', '--dir', dir])).out)
}

/** Whatever runs in another folder ends with the test. */
function endsIn(dir: string): void {
  ends.push(async () => {
    await here.nerve(['server', 'stop', '--force', '--dir', dir])
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  })
}

test('in a copy, the runs of a daemon that lives are driven by nobody, and go on with the files of the copy', async () => {
  here = stage({ 'slow.ts': files.slow, 'asking.ts': files.asking })
  const { dir, nerve, write, until } = here
  const slow = (await nerve(['run', 'slow.ts', '--detach'])).out.trim()
  const asking = (await nerve(['run', 'asking.ts', '--detach'])).out.trim()
  await until(() => here.log().includes('holding'), 'the step holds')
  await until(async () => (await shown(asking))['status'] === 'waiting', 'it asks')
  const copy = `${dir}-copy`
  cpSync(dir, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') })
  endsIn(copy)
  await nerve(['trust', copy])

  expect(await shown(slow, copy)).toMatchObject({ status: 'crashed', source: join(copy, 'slow.ts') })
  expect(await shown(slow)).toMatchObject({ status: 'running', source: join(dir, 'slow.ts') })
  const answered = await nerve(['answer', asking, 'revise', '--dir', copy, '--local'])
  expect(answered).toMatchObject({ code: 3, out: expect.stringContaining('Under which name?') })
  expect((await shown(asking))['questions']).toMatchObject([{ prompt: 'Publish this?' }])
  await nerve(['cancel', slow, '--dir', copy, '--local'])
  expect(await shown(slow, copy)).toMatchObject({ status: 'cancelled' })
  write('go', '')
  await until(async () => (await shown(slow))['status'] === 'completed', 'the original goes on')
})

test('a run of a project that is moved goes on from its file in the new place', async () => {
  here = stage({ 'asking.ts': files.asking })
  const { dir, nerve } = here
  await nerve(['run', 'asking.ts'])
  const moved = `${dir}-moved`
  renameSync(dir, moved)
  // Its folder is there again for the commands of the test.
  mkdirSync(dir)
  endsIn(moved)
  const answered = await nerve(['answer', 'last', 'publish', '--dir', moved, '--local'])
  expect(answered).toMatchObject({ code: 3, out: expect.stringContaining('Under which name?') })
  expect(readFileSync(join(moved, '.nerve/nerve.db')).includes(dir)).toBe(false)
})
