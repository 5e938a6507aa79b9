/** The end of a daemon, where something is in its way. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost } from 'nerve'
import { connect } from 'nerve/client'
import { expect, onTestFinished, test } from 'vitest'
import { startDaemon } from '../../src/surfaces/daemon/daemon.ts'

test('steps that run have their moment, also where its record cannot be removed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-ending-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const [begun, may] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  Object.assign(globalThis, { endingStep: { begun: begun.resolve, may: may.promise } })
  const source = join(import.meta.dirname, '..', '..', 'src', 'index.ts')
  writeFileSync(
    join(dir, 'ending.ts'),
    `import { workflow } from ${JSON.stringify(source)}
    export default workflow('ending', (ctx) => ctx.step('hold', () => (globalThis.endingStep.begun(), globalThis.endingStep.may)))`,
  )
  const problems: unknown[] = []
  const said: string[] = []
  const daemon = await startDaemon({
    dir,
    version: '1.0.0',
    say: (text) => void said.push(text),
    onProblem: (error) => void problems.push(error),
  })
  const client = await connect(daemon.record.socket)
  const { run } = await client.call('runs.start', { file: join(dir, 'ending.ts') })
  await begun.promise
  await client.close()
  chmodSync(join(dir, '.nerve', 'server.json'), 0o666)
  const ended = daemon.stop('told to')
  may.resolve()
  await ended
  expect(said).toContain('ended')
  expect(problems).toContainEqual(expect.objectContaining({ code: 'not-allowed' }))
  const after = await createHost({ dir, recover: false, wake: false })
  onTestFinished(() => after.close())
  expect((await after.journal(run)).map(({ event }) => event.type)).toContain('step-completed')
})
