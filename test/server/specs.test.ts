/** Definitions that are sent as data outlive the host that they were sent to. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { standalone, type Client } from 'nerve/client'

const dir = mkdtempSync(join(tmpdir(), 'nerve-specs-'))
const folder = join(dir, '.nerve', 'definitions')
const clients: Client[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  rmSync(dir, { recursive: true, force: true })
})

async function open(): Promise<Client> {
  const client = await standalone({ dir })
  clients.push(client)
  return client
}

const spec = (prompt: string) => ({
  nerve: 1,
  name: 'Sign off',
  steps: { ok: { prompt, choices: ['yes', 'no'] } },
})

it('keeps specs for the next host, which goes on with their runs', async () => {
  const first = await open()
  await expect(first.call('definitions.create', { spec: { ...spec('?'), nodes: './code.ts' } })).rejects.toMatchObject({
    code: 'bad-definition',
    data: { problems: [{ path: ['nodes'], message: expect.stringContaining('register the nodes') }] },
  })
  await first.call('definitions.create', { spec: spec('Old?') })
  await first.call('definitions.create', { spec: spec('Ship it?') })
  expect(readdirSync(folder)).toHaveLength(1)
  expect(statSync(join(folder, readdirSync(folder)[0] ?? '')).mode & 0o777).toBe(0o600)
  const run = await first.runs.start('Sign off')
  await run.wait({ until: 'rest' })
  await expect(first.call('definitions.remove', { definition: 'Sign off' })).rejects.toMatchObject({
    code: 'not-ready',
  })
  await first.close()
  clients.length = 0

  const second = await open()
  expect((await second.definitions()).map(({ name }) => name)).toEqual(['Sign off'])
  const [question] = await second.questions.list()
  expect(question).toMatchObject({ run: run.id, prompt: 'Ship it?' })
  await second.questions.answer(question?.id ?? '', 'yes')
  expect(await second.run(run.id).result()).toMatchObject({ ok: 'yes' })
  await second.call('definitions.remove', { definition: 'Sign off' })
  expect(await second.definitions()).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})
