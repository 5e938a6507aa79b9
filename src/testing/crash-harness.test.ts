import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { crash } from './crash-harness.ts'

let dir: string | undefined
afterEach(() => rmSync(dir ?? '', { recursive: true, force: true }))

/** A folder with a worker in it that writes down one effect. */
function stage(): { readonly worker: string; readonly dir: string } {
  dir = mkdtempSync(join(tmpdir(), 'nerve-harness-'))
  const worker = join(dir, 'worker.mjs')
  const effect = JSON.stringify({ by: 0, run: 'a', path: 'b', attempt: 1 })
  writeFileSync(
    worker,
    `import { writeFileSync } from 'node:fs'
     writeFileSync(process.env.NERVE_CRASH_FOLDER + '/effects.jsonl', ${JSON.stringify(effect)})`,
  )
  return { worker, dir: join(dir, 'runs') }
}

it('refuses a folder with what an earlier test left: it would be taken for its own', async () => {
  const options = { ...stage(), kills: [] }
  expect((await crash(options)).effects).toHaveLength(1)
  await expect(crash(options)).rejects.toMatchObject({
    code: 'bad-option',
    message: expect.stringContaining('Give crash() an empty one'),
  })
})

it.each(['commit-befor', 'commit-before:0', 'commit-before:x'])(
  'refuses to kill where nobody passes: %s',
  async (at) => {
    await expect(crash({ ...stage(), kills: [{ at }] })).rejects.toMatchObject({
      code: 'bad-option',
      message: expect.stringContaining(`'${at}'`),
    })
  },
)
