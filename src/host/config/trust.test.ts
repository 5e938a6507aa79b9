import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { distrustFolder, isTrusted, trustFolder, trustedFolders } from './trust.ts'

function place() {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-trust-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'nerve.config.ts')
  writeFileSync(file, 'export default {}')
  const env = { XDG_STATE_HOME: join(dir, 'state') }
  return { dir, file, env, folder: join(env.XDG_STATE_HOME, 'nerve', 'trusted') }
}

describe('trust', () => {
  it('is given once, to a folder where it is, and can be taken back', () => {
    const { dir, file, env } = place()
    expect(isTrusted(dir, env)).toBe(false)
    trustFolder(dir, env)
    expect(isTrusted(dir, env)).toBe(true)
    expect(trustedFolders(env)).toMatchObject([{ folder: dir, changed: false }])
    writeFileSync(file, 'export default { nodes: [] }')
    expect(isTrusted(dir, env)).toBe(true)
    expect(trustedFolders(env)).toMatchObject([{ folder: dir, changed: true }])
    expect(distrustFolder(dir, env)).toBe(true)
    expect(distrustFolder(dir, env)).toBe(false)
    expect(isTrusted(dir, env)).toBe(false)
    expect(isTrusted(dir, { ...env, NERVE_TRUST: '1' })).toBe(true)
    expect(trustedFolders(env)).toEqual([])
  })

  it('that cannot be written down is said so', () => {
    const { env, dir } = place()
    writeFileSync(join(dir, 'state'), 'no folder')
    expect(() => trustFolder(dir, env)).toThrow(/is trusted could not be written down: .*NERVE_TRUST=1/u)
  })

  it('is for the person alone, and follows links to the folder itself', () => {
    const { dir, env, folder } = place()
    const link = join(dir, 'link')
    symlinkSync(dir, link)
    trustFolder(link, env)
    expect(isTrusted(dir, env)).toBe(true)
    const [record = ''] = readdirSync(folder)
    expect(statSync(join(folder, record)).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    // The record is moved to another name: it says itself which folder it is for.
    const other = join(dir, 'other')
    mkdirSync(other)
    trustFolder(other, env)
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), '{"format":2,"folder":"elsewhere"}')
    expect(isTrusted(other, env)).toBe(false)
    writeFileSync(join(folder, record), 'broken')
    expect(isTrusted(dir, env)).toBe(false)
  })
})
