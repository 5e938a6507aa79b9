/** Output that is more than a result holds: its files go with the run that made them. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { workflow, type Host } from 'nerve'
import { bash } from 'nerve/nodes'
import { expect, it, onTestFinished } from 'vitest'
import { temporary } from './session-stage.ts'
import { openStage } from './stage.ts'
import { removeSpills } from '../../src/nodes/spill-folder.ts'

const much = bash('much', { command: 'seq 1 1000', maxOutput: 100 })

async function spilled(host: Host, node = much): Promise<string> {
  const run = await host.start(workflow('much', (ctx) => ctx.run(node)))
  const { spill } = await run.result()
  const file = spill?.stdout ?? ''
  onTestFinished(() => rmSync(dirname(file), { recursive: true, force: true }))
  expect(existsSync(file)).toBe(true)
  return file
}

it('goes with its run, and not with another one', async () => {
  const { host, clock } = await openStage()
  const old = await spilled(host)
  const chosen = await spilled(host, bash('much', { command: 'seq 1 1000', maxOutput: 100, spillDir: temporary() }))
  clock.advance(10 * 86_400_000)
  const recent = await spilled(host)
  await host.gc({ olderThan: '9d' })
  expect(existsSync(dirname(old))).toBe(false)
  expect([existsSync(recent), existsSync(chosen)]).toEqual([true, true])
})

it('takes nothing that only looks like it', () => {
  const parent = temporary()
  const made = (name: string): string => mkdtempSync(join(parent, name))
  const folders = [made('nerve-spill-run1-'), made('nerve-spill-run10-'), made('nerve-spill-run1-x-'), made('run1-')]
  expect(removeSpills(['run1'], parent)).toHaveLength(1)
  expect(folders.map((folder) => existsSync(folder))).toEqual([false, true, true, true])
  expect(removeSpills(['', 'other'], parent)).toEqual([])
  expect(parent.startsWith(tmpdir())).toBe(true)
})
