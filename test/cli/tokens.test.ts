/** `nerve token`: secrets are shown when they are asked for, and changes of two processes are both kept. */
import { existsSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openTokens } from 'nerve/server'
import { holdFile } from '../../src/base/file-lock.ts'
import { jsonLines, project, type Project } from './nerve.ts'

let here: Project | undefined
afterEach(() => {
  here?.remove()
  here = undefined
})

test('create, list, show, rotate and revoke', async () => {
  const { dir, nerve, has, read } = (here = project())
  expect(await nerve(['token', 'list', '--json'])).toMatchObject({ code: 0, out: '[]\n' })
  expect(await nerve(['token', 'show', 'default'])).toMatchObject({
    code: 2,
    err: expect.stringContaining("There is no token 'default': there are none in"),
  })
  // Neither looking nor asking for what is not there leaves anything behind.
  expect(has('.nerve')).toBe(false)
  const made = await nerve(['token', 'create', 'phone', '--scope', 'answer'])
  expect(made).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^nrv_[\w-]{43}\n$/) })
  expect(read('.nerve/.gitignore')).toBe('*\n')
  const file = join(dir, '.nerve', 'tokens.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const tokens = openTokens(file)
  const secret = made.out.trim()
  expect(tokens.find(secret)).toMatchObject({ name: 'phone', scope: 'answer' })

  const [lines, json] = await Promise.all([nerve(['token', 'list']), nerve(['token', 'list', '--json'])])
  expect(lines.out).toMatch(/^default {2}control {2}\S+ old\nphone {4}answer {3}\S+ old\n$/)
  expect(jsonLines(json.out)[0]).toMatchObject([{ name: 'default' }, { name: 'phone', created: expect.any(Number) }])
  expect(lines.out + json.out).not.toContain('nrv_')

  const shown = await nerve(['token', 'show', 'phone', '--json'])
  expect(jsonLines(shown.out)).toMatchObject([{ name: 'phone', scope: 'answer', secret }])
  const rotated = (await nerve(['token', 'rotate', 'phone'])).out.trim()
  expect(tokens.find(secret)).toBeUndefined()
  expect(tokens.find(rotated)).toMatchObject({ name: 'phone', scope: 'answer' })
  expect(jsonLines((await nerve(['token', 'revoke', 'phone', '--json'])).out)).toEqual([
    { name: 'phone', revoked: true },
  ])
  expect(tokens.find(rotated)).toBeUndefined()
  expect(tokens.list().map(({ name }) => name)).toEqual(['default'])
})

test('what is wrong is said, and changes nothing', async () => {
  const { nerve, has } = (here = project())
  const said = await Promise.all([
    nerve(['token', 'create', 'phone']),
    nerve(['token', 'create', 'phone', '--scope', 'write']),
    nerve(['token', 'revoke', 'phone']),
  ])
  expect(said.map(({ code, err }) => [code, err.trim()])).toEqual([
    [2, 'nerve token create: what may it do? Give --scope read, --scope answer, --scope control.'],
    [2, expect.stringContaining("--scope is 'write'.")],
    [2, expect.stringContaining("There is no token 'phone'")],
  ])
  expect(has('.nerve')).toBe(false)
  await nerve(['token', 'create', 'phone', '--scope', 'read'])
  expect((await nerve(['token', 'create', 'phone', '--scope', 'read'])).err).toContain('already')
})

test.skipIf(!existsSync('/proc/self/fd'))(
  'whoever changes them waits for who does so already, and keeps that',
  async () => {
    const { dir, start, until } = (here = project())
    const file = join(dir, '.nerve', 'tokens.json')
    const before = openTokens(file).list()
    const letGo = holdFile(`${file}.lock`, 1)
    const other = start(['token', 'create', 'other', '--scope', 'read'])
    const fds = `/proc/${other.child.pid}/fd`
    const waits = (): boolean => readdirSync(fds).some((fd) => linkOf(join(fds, fd)).endsWith('tokens.json.lock'))
    await until(waits, 'the lock being waited for')
    const mine = { name: 'mine', scope: 'read', secret: 'x'.repeat(32), created: 0 }
    writeFileSync(file, JSON.stringify({ tokens: [...before, mine] }))
    letGo?.()
    expect(await other.ended).toMatchObject({ code: 0, err: '' })
    expect(
      openTokens(file)
        .list()
        .map(({ name }) => name),
    ).toEqual(['default', 'mine', 'other'])
  },
)

/** Files are closed while they are looked at. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

test('changes of several processes at once are all kept', async () => {
  const { dir, nerve } = (here = project())
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const made = await Promise.all(names.map((name) => nerve(['token', 'create', name, '--scope', 'read'])))
  expect(made.map(({ code, err }) => [code, err])).toEqual(names.map(() => [0, '']))
  const tokens = openTokens(join(dir, '.nerve', 'tokens.json'))
  expect(new Set(tokens.list().map(({ name }) => name))).toEqual(new Set(['default', ...names]))
  for (const { out } of made) expect(tokens.find(out.trim())).toBeDefined()
})
