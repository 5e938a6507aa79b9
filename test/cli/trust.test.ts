/** What nobody has named does not run before somebody has trusted the project: records that came from elsewhere, and files in a folder. */
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { projectFolder } from '../../src/surfaces/cli/project-folder.ts'
import { stage, type Stage } from '../daemon/stage.ts'

let here: Stage
afterEach(() => here.remove())

const ASKS = `
import { appendFileSync } from 'node:fs'
import { workflow } from 'nerve'
appendFileSync('loaded.txt', 'loaded\\n')
export default workflow('asks', async (ctx) => ctx.step('go', async () => ctx.runId + (await 'went')))
export const waits = workflow('waits', (ctx) => ctx.ask('Well?', { choices: ['yes', 'no'] }))
`

/** A folder that is removed at the end. */
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'nerve-foreign-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

async function parked(): Promise<Stage> {
  here = stage({ 'waits.ts': ASKS.replace('export default workflow', 'const other = workflow') })
  expect((await here.nerve(['run', 'waits.ts'], { env: { NERVE_LOCAL: '1' } })).code).toBe(3)
  rmSync(join(here.dir, 'loaded.txt'))
  return here
}

describe('records that were copied', () => {
  test.each([
    [['server', 'start']],
    [['run', 'waits.ts', '--detach']],
    [['answer', 'last', 'yes']],
    [['resume', '--all']],
    [['node', 'execute', 'x']],
    [['mcp']],
  ])('are not driven on: %s', async (args) => {
    const { dir, nerve } = await parked()
    const copy = join(folder(), 'clone')
    cpSync(dir, copy, { recursive: true })
    const { code, err } = await nerve([...args, '--dir', copy, '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(err)).toMatchObject({
      error: { code: 'not-trusted', data: { folder: copy, file: join(copy, '.nerve') } },
    })
    expect(existsSync(join(copy, '.nerve', 'server.json'))).toBe(false)
  })

  test('can be looked at, and are driven on once somebody has trusted them', async () => {
    const { dir, nerve } = await parked()
    const copy = join(folder(), 'clone')
    cpSync(dir, copy, { recursive: true })
    for (const look of [['ps'], ['inbox'], ['show', 'last'], ['events', 'last'], ['doctor']])
      expect(await nerve([...look, '--dir', copy])).toMatchObject({ code: 0 })
    expect((await nerve(['trust', copy])).code).toBe(0)
    const local = { env: { NERVE_LOCAL: '1' } }
    expect(await nerve(['answer', 'last', 'yes', '--dir', copy], local)).toMatchObject({ code: 0 })
  })

  test('a folder that was moved is the same one', async () => {
    const { dir, nerve } = await parked()
    const moved = join(folder(), 'moved')
    renameSync(dir, moved)
    mkdirSync(dir)
    const waits = join(moved, 'waits.ts')
    expect((await nerve(['run', waits, '--dir', moved], { env: { NERVE_LOCAL: '1' } })).code).toBe(3)
  })
})

describe('what others can write to', () => {
  const away = (dir: string): void => chmodSync(join(dir, '.nerve'), 0o777)
  const linked = (dir: string): void => {
    const real = join(folder(), 'real')
    renameSync(join(dir, '.nerve'), real)
    symlinkSync(real, join(dir, '.nerve'))
  }
  const given = (dir: string): void => chownSync(join(dir, '.nerve'), 65_534, 65_534)
  const database = (dir: string): void => chmodSync(join(dir, '.nerve', 'nerve.db'), 0o666)

  test.each([
    ['a folder that all may write to', away, 'can be written by others'],
    ['a link', linked, 'is a link'],
    ['a database that all may write to', database, 'can be written by others'],
    ...(process.getuid?.() === 0 ? [['a folder of another user', given, 'belongs to another user'] as const] : []),
  ] as const)('is not opened: %s', async (_what, change, why) => {
    const { dir, nerve } = await parked()
    change(dir)
    for (const args of [['ps'], ['run', 'waits.ts'], ['server', 'start']]) {
      const { code, err } = await nerve(args)
      expect({ args, code, err }).toEqual({ args, code: 2, err: expect.stringContaining(why) })
    }
    await nerve(['trust'])
    expect((await nerve(['ps'])).code).toBe(0)
  })

  test('is the project of nobody who works in a folder below', () => {
    here = stage({})
    const shared = folder()
    chmodSync(shared, 0o1777)
    mkdirSync(join(shared, '.nerve'))
    const work = join(shared, 'work')
    mkdirSync(work)
    expect(projectFolder(work, undefined)).toBe(work)
    expect(projectFolder(shared, undefined)).toBe(shared)
    chmodSync(shared, 0o755)
    expect(projectFolder(work, undefined)).toBe(shared)
  })

  test('the database is for its user alone, also in a folder that was there', async () => {
    here = stage({ 'waits.ts': ASKS })
    mkdirSync(join(here.dir, '.nerve'), { mode: 0o755 })
    await here.nerve(['run', 'waits.ts'], { env: { NERVE_LOCAL: '1' } })
    expect(statSync(join(here.dir, '.nerve', 'nerve.db')).mode & 0o777).toBe(0o600)
  })
})

describe('the folder for workflows', () => {
  function open(): Stage {
    here = stage({})
    mkdirSync(join(here.dir, 'workflows'))
    here.write('workflows/asks.ts', ASKS)
    return here
  }

  test('is not loaded by a command that names nothing in it', async () => {
    const { nerve, has, dir } = open()
    for (const args of [
      ['workflow', 'list'],
      ['workflow', 'run', 'asks'],
    ]) {
      const { code, err } = await nerve([...args, '--json'], { env: { NERVE_LOCAL: '1' } })
      expect(code).toBe(2)
      expect(JSON.parse(err)).toMatchObject({ error: { code: 'not-trusted', data: { file: join(dir, 'workflows') } } })
    }
    expect(has('loaded.txt')).toBe(false)
    // A file that is named is another matter.
    expect((await nerve(['run', 'workflows/asks.ts'], { env: { NERVE_LOCAL: '1' } })).code).toBe(0)
    await nerve(['trust'])
    expect((await nerve(['workflow', 'run', 'asks'], { env: { NERVE_LOCAL: '1' } })).code).toBe(0)
  })

  test('nor by the daemon, whoever asks, until somebody trusts the project', async () => {
    const { nerve, has } = open()
    await nerve(['server', 'start'])
    const client = await here.client()
    expect(await client.call('definitions.list', {})).toEqual([])
    await expect(client.call('runs.start', { definition: 'asks' })).rejects.toThrow('nerve trust')
    expect(has('loaded.txt')).toBe(false)
    await nerve(['trust'])
    expect(await client.call('definitions.list', {})).toMatchObject([{ name: 'asks' }, { name: 'waits' }])
  })
})

test('trust in a folder that is gone can be taken back', async () => {
  here = stage({})
  const { nerve, dir } = here
  mkdirSync(join(dir, 'gone'))
  await nerve(['trust', 'gone'])
  rmSync(join(dir, 'gone'), { recursive: true })
  expect(await nerve(['trust', 'gone', '--revoke'])).toMatchObject({
    code: 0,
    out: expect.stringContaining('no longer'),
  })
  expect((await nerve(['trust', '--list'])).out).toBe('Nothing is trusted.\n')
})
