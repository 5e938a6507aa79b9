import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { leaseSession, notePut, takePut } from './session-lease.ts'

const system = vi.hoisted(() => ({ home: '' }))
vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  userInfo: () => {
    if (system.home === '') throw new Error('no such user')
    return { homedir: system.home }
  },
}))

let dir: string
let other: string
const ref = { agent: 'mine', id: 'one', cwd: '/' }
const holder = { node: 'coder', mark: 'f'.repeat(32) }
const inHome = (): string => join(system.home, '.local', 'state', 'nerve', 'agent-sessions')

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nerve-lease-'))
  system.home = join(dir, 'home')
  other = join(dir, 'state', 'nerve', 'agent-sessions')
  vi.stubEnv('XDG_STATE_HOME', join(dir, 'state'))
  return () => {
    vi.unstubAllEnvs()
    rmSync(dir, { recursive: true, force: true })
  }
})

test('is in the home that the system knows, whatever the variables say', async () => {
  const letGo = await leaseSession(ref, holder)
  expect(readdirSync(inHome()).length).toBeGreaterThan(1)
  vi.stubEnv('XDG_STATE_HOME', join(dir, 'another'))
  await expect(leaseSession(ref, holder)).rejects.toMatchObject({ code: 'not-ready', data: { holder: 'coder' } })
  letGo()
  expect(readdirSync(inHome())).toEqual([])
})

test('is elsewhere for a user without a home', async () => {
  system.home = ''
  const letGo = await leaseSession(ref, holder)
  expect(readdirSync(other).length).toBeGreaterThan(1)
  letGo()
})

test.each(['a link', 'open to others'])('is not in a folder that is %s', async (how) => {
  for (const folder of [inHome(), other]) {
    mkdirSync(how === 'a link' ? join(folder, '..') : folder, { recursive: true })
    if (how === 'a link') symlinkSync(dir, folder)
    else chmodSync(folder, 0o777)
  }
  await expect(leaseSession(ref, holder)).rejects.toThrow(/is not a folder of this user alone.*XDG_STATE_HOME/)
})

test('is wherever it can be where modes say nothing, as on Windows', async () => {
  mkdirSync(inHome(), { recursive: true })
  chmodSync(inHome(), 0o777)
  const { getuid } = process
  Object.assign(process, { getuid: undefined })
  try {
    const letGo = await leaseSession(ref, holder)
    expect(readdirSync(inHome()).length).toBeGreaterThan(1)
    letGo()
  } finally {
    Object.assign(process, { getuid })
  }
})

test('what was left a month ago is removed, but not what somebody holds or has put off', async () => {
  const letGo = await leaseSession(ref, holder)
  const held = readdirSync(inHome())
  for (const name of ['old.lock', 'old.json', 'old.put', 'new.lock', 'new.json'])
    writeFileSync(join(inHome(), name), '')
  const month = Date.now() / 1_000 - 31 * 24 * 3_600
  for (const name of readdirSync(inHome())) if (!name.startsWith('new')) utimesSync(join(inHome(), name), month, month)
  const letGoToo = await leaseSession({ ...ref, id: 'two' }, holder)
  letGoToo()
  expect(readdirSync(inHome()).toSorted()).toEqual([...held, 'new.json', 'new.lock', 'old.put'].toSorted())
  letGo()
})

test('whoever uses a session takes what was put off in it', () => {
  notePut(ref, 'coder', 'run/step')
  expect(takePut(ref, 'coder', 'run/other')).toBe(false)
  expect(takePut(ref, 'coder', 'run/step')).toBe(false)
  notePut(ref, 'coder', 'run/step')
  expect(takePut(ref, 'coder', 'run/step')).toBe(true)
})
