/** The log of a daemon: what it and the workflows in it print, for as long as it lives and after that. */
import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { stage, type Stage } from './stage.ts'

let here: Stage
afterEach(() => here.remove())

const open = (workflows: Readonly<Record<string, string>>): Stage => (here = stage(workflows))

const wordy = `import { workflow } from 'nerve'
export default workflow('wordy', async (ctx) => ctx.step('talk', () => {
  for (let i = 0; i < 11; i += 1) console.log('x'.repeat(1_000_000))
}))
`

test('its log does not grow for ever', async () => {
  const { nerve, until, log, read, has } = open({ 'wordy.ts': wordy })
  await nerve(['run', 'wordy.ts', '--detach'])
  await until(() => has('.nerve/logs/server.log.1'), 'there is an older log')
  expect(read('.nerve/logs/server.log.1').length).toBeGreaterThan(10_000_000)
  await until(() => log().length < 1_000, 'the log begins anew')
  await nerve(['server', 'stop'])
  expect(log()).toMatch(/ ended\n$/)
})

test('whoever follows its log goes on with the next one, and is told nothing twice, whatever is printed', async () => {
  const { nerve, start, dir } = open({})
  await nerve(['server', 'start'])
  const log = join(dir, '.nerve/logs/server.log')
  appendFileSync(log, Buffer.from([0xff, 0xfe, 0x0a]))
  const following = start(['server', 'logs', '--follow'])
  await following.shown('listens at')
  appendFileSync(log, 'more of it\n')
  await following.shown('more of it')
  // As it is done for one that is large, when a daemon starts.
  renameSync(log, `${log}.1`)
  writeFileSync(log, 'the next one\n')
  await following.shown('the next one')
  following.child.kill('SIGINT')
  const { code, out } = await following.ended
  expect({ code, times: out.split('listens at').length - 1 }).toEqual({ code: 0, times: 1 })
})

test('a start whose log cannot be written says what to do', async () => {
  const { nerve, dir } = open({})
  await nerve(['token', 'create', 'phone', '--scope', 'read'])
  mkdirSync(join(dir, '.nerve/logs'), { mode: 0o700 })
  symlinkSync('/etc/hosts', join(dir, '.nerve/logs/server.log'))
  const { code, err } = await nerve(['server', 'start', '--json'])
  expect(code).toBe(2)
  expect(JSON.parse(err)).toMatchObject({
    error: {
      code: 'bad-file',
      message: expect.stringMatching(/log of the daemon could not be written: .*server\.log/),
    },
  })
})
