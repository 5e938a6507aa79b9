import { expect, test } from 'vitest'
import { matrix } from './agents-matrix-reporter.ts'

test('the table has a row for each thing and a column for each agent, and says why not', () => {
  const all = [
    { agent: 'b', what: 'resumes', state: 'passed', why: undefined },
    { agent: 'a', what: 'resumes', state: 'skipped', why: 'it forgets' },
    { agent: 'a', what: 'answers', state: 'failed', why: undefined },
  ]
  expect(matrix(all, { package: '1.2.3' }).split('\n').slice(2)).toEqual([
    expect.stringContaining('npm run test:agents'),
    '',
    '- package 1.2.3',
    '',
    '|  | a | b |',
    '| --- | --- | --- |',
    '| resumes | – | yes |',
    '| answers | **failed** |  |',
    '',
    '## Why not',
    '',
    '- a, resumes: it forgets.',
    '',
  ])
})
