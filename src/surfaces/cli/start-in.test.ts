import { expect, onTestFinished, test, vi } from 'vitest'
import { startIn } from './start-in.ts'

test('who waits long for a run to start is told for what, and what can be done', async () => {
  const told: string[] = []
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => told.push(String(text)) > 0)
  onTestFinished(() => write.mockRestore())
  const started = Promise.withResolvers<{ run: string }>()
  const daemon = { client: { call: () => started.promise }, record: { pid: 42 } }
  const starting = startIn({ daemon }, { definition: 'slow' }, 1)
  await expect.poll(() => told.join('')).toContain('The daemon (process 42) has not started the run yet')
  expect(told.join('')).toContain('nerve server stop --force')
  started.resolve({ run: 'r1' })
  expect(await starting).toBe('r1')
})
