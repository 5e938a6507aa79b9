/** `nerve audit`: who did what, as lines and as JSON. */
import { userInfo } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { jsonLines, project, type Project } from './nerve.ts'

let here: Project | undefined
afterEach(() => {
  here?.remove()
  here = undefined
})

const FLOW = `
import { workflow } from 'nerve'
export default workflow('flow', (ctx) => ctx.ask('Really\\u001B[31m?', { choices: ['yes', 'no'] }))
`

test('lists what was done, the newest first', async () => {
  const { nerve, has } = (here = project({ 'flow.ts': FLOW }))
  expect(await nerve(['audit'])).toMatchObject({ code: 0, out: expect.stringContaining('Nobody has done anything') })
  expect(has('.nerve')).toBe(false)
  await nerve(['run', 'flow.ts'])
  await nerve(['answer', 'last', 'yes'])
  await nerve(['run', 'flow.ts'])
  await nerve(['cancel', 'last'])
  const me = { by: userInfo().username, via: 'cli' }
  const [all, last, limited, lines] = await Promise.all([
    nerve(['audit', '--json']),
    nerve(['audit', 'last', '--json']),
    nerve(['audit', '--json', '--limit', '1']),
    nerve(['audit']),
  ])
  const rows = jsonLines(all.out)
  expect(rows).toMatchObject([
    { ...me, action: 'cancelled', definition: 'flow' },
    { ...me, action: 'started' },
    { ...me, action: 'answered', value: 'yes' },
    { ...me, action: 'started' },
  ])
  expect(jsonLines(last.out)).toEqual(rows.slice(0, 2))
  expect(jsonLines(limited.out)).toEqual(rows.slice(0, 1))
  expect(lines.out.split('\n')).toEqual([
    expect.stringMatching(/^[\d-]{10} [\d:]{8} {2}\S+ \(cli\) +cancelled +[0-9a-z]{16} {2}flow$/),
    expect.stringContaining('started'),
    expect.stringMatching(/answered +[0-9a-z]{16} {2}flow {2}Really\? → yes$/),
    expect.stringContaining('started'),
    '',
  ])
})
