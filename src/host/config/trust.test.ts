import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { distrustFile, isTrusted, trustFile, trustedFiles } from './trust.ts'

function place() {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-trust-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'nerve.config.ts')
  writeFileSync(file, 'export default {}')
  const env = { XDG_STATE_HOME: join(dir, 'state') }
  return { dir, file, env, folder: join(env.XDG_STATE_HOME, 'nerve', 'trusted') }
}

describe('trust', () => {
  it('is given once, to a file where it is, and can be taken back', () => {
    const { file, env } = place()
    expect(isTrusted(file, env)).toBe(false)
    trustFile(file, env)
    expect(isTrusted(file, env)).toBe(true)
    writeFileSync(file, 'export default { nodes: [] }')
    expect(isTrusted(file, env)).toBe(true)
    expect(trustedFiles(env)).toMatchObject([{ file, changed: true }])
    expect(distrustFile(file, env)).toBe(true)
    expect(distrustFile(file, env)).toBe(false)
    expect(isTrusted(file, env)).toBe(false)
    expect(trustedFiles(env)).toEqual([])
  })

  it('that cannot be written down is said so', () => {
    const { file, env, dir } = place()
    writeFileSync(join(dir, 'state'), 'no folder')
    expect(() => trustFile(file, env)).toThrow(/is trusted could not be written down: .*NERVE_TRUST=1/u)
  })

  it('is for the person alone, and follows links to the file itself', () => {
    const { dir, file, env, folder } = place()
    const link = join(dir, 'link.ts')
    symlinkSync(file, link)
    trustFile(link, env)
    expect(isTrusted(file, env)).toBe(true)
    const [record = ''] = readdirSync(folder)
    expect(statSync(join(folder, record)).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    // The record is moved to another name: it says itself which file it is for.
    const other = join(dir, 'other.ts')
    writeFileSync(other, 'export default {}')
    trustFile(other, env)
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), '{"format":1,"file":"elsewhere"}')
    expect(isTrusted(other, env)).toBe(false)
    writeFileSync(join(folder, record), 'broken')
    expect(isTrusted(file, env)).toBe(false)
  })
})
