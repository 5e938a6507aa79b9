import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { holdFile } from './file-lock.ts'

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-lock-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

it('is had by one at a time', () => {
  const file = join(folder(), 'one.lock')
  const letGo = holdFile(file)
  expect(holdFile(file)).toBeUndefined()
  letGo?.()
  const again = holdFile(file)
  expect(again).toBeDefined()
  again?.()
})

it('says which file cannot be locked, and what to look at', () => {
  const file = join(folder(), 'missing', 'one.lock')
  expect(() => holdFile(file)).toThrow(`${file} could not be locked`)
})
