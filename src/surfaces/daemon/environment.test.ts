import { delimiter } from 'node:path'
import { expect, test } from 'vitest'
import { differing, marksOf } from './environment.ts'

const path = (...folders: string[]): string => folders.join(delimiter)

test('what npm and npx put before the path is no difference; another folder is', () => {
  const started = marksOf({ PATH: path('/app/node_modules/.bin', '/usr/bin', '/bin') })
  expect(differing(started, { PATH: path('/usr/bin', '/bin') })).toEqual([])
  expect(
    differing(started, { PATH: path('/x/node_modules/npm/lib/node-gyp-bin', '/usr/bin', '/bin', '/usr/bin') }),
  ).toEqual([])
  expect(differing(started, { PATH: path('/usr/local/bin', '/usr/bin', '/bin') })).toEqual(['PATH'])
  expect(differing(started, { OPENAI_API_KEY: 'k', HOME: '/' })).toEqual(['OPENAI_API_KEY'])
})
