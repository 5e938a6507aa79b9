import { userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { stateFolder } from './state-folder.ts'

afterEach(() => vi.unstubAllEnvs())

test('is in the folder that the system has for such things', () => {
  vi.stubEnv('HOME', '/home/of/ada')
  expect(stateFolder({})).toBe('/home/of/ada/.local/state/nerve')
  expect(stateFolder({ XDG_STATE_HOME: '/state' })).toBe('/state/nerve')
})

// A project would say of itself that it is trusted.
test.each(['', '.', 'home'])('is never in the folder of a project: HOME is %j', (home) => {
  vi.stubEnv('HOME', home)
  const own = join(userInfo().homedir, '.local', 'state', 'nerve')
  expect(stateFolder({})).toBe(own)
  expect(stateFolder({ XDG_STATE_HOME: 'state' })).toBe(own)
})
