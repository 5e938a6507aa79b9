import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createHost } from 'nerve'
import { createGateway, scripted, type Backend } from 'nerve/gateway'
import { llm } from 'nerve/models'
import { recorded } from './index.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nerve-recorded-'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

async function ask(backend: Backend, prompt: string): Promise<string> {
  const gateway = await createGateway({ backend })
  const host = await createHost({ store: 'memory' })
  const place = { baseURL: `${gateway.url}/v1`, apiKey: gateway.token().token }
  try {
    const run = await host.start(
      llm('ask', { model: 'openai-compatible:m', ...place, policy: { attempts: 1 } }),
      prompt,
    )
    return await run.result()
  } finally {
    await host.close()
    await gateway.close()
  }
}

const says = (say: string) => (): Backend => scripted({ rules: [{ say }] })
const nobody = (): Backend => {
  throw new Error('nobody is to be asked')
}

it('records when it is told to, anew each time, and replays without asking anybody', async () => {
  writeFileSync(join(folder, 'notes.json'), '{}')
  for (const said of ['One.', 'Two.']) {
    vi.stubEnv('NERVE_RECORD', '1')
    expect(await ask(recorded({ folder, backend: says(said) }), 'Count')).toBe(said)
    vi.stubEnv('NERVE_RECORD', '')
    expect(await ask(recorded({ folder, backend: nobody }), 'Count')).toBe(said)
    expect(readdirSync(folder)).toHaveLength(2)
  }
  await expect(ask(recorded({ folder, backend: nobody, record: false }), 'Sing')).rejects.toThrow(
    'recorded "Count", asked "Sing"',
  )
})

it('makes the folder that it records into', async () => {
  const inner = join(folder, 'new')
  await ask(recorded({ folder: inner, backend: says('Hi.'), record: true }), 'Hello')
  expect(readdirSync(inner)).toHaveLength(1)
})
