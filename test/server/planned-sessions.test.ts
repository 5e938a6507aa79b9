/** Sessions that are only planned are there for clients, as those are that were opened before. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { defineNode, type HostOptions } from 'nerve'
import { standalone } from 'nerve/client'

function inFolder(): HostOptions {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-planned-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return { dir }
}

it.each([
  ['without a project folder', (): HostOptions => ({ store: 'memory' })],
  ['in a project', inFolder],
])('%s: what is listed can be shown and used', async (_where, options) => {
  const shout = defineNode('shout', (text: string) => text.toUpperCase())
  const sessions = [{ name: 'tools', tags: ['daily'], nodes: [shout, { kind: 'identity', id: 'same' }] }]
  const client = await standalone({ ...options(), sessions })
  onTestFinished(() => client.close())
  expect(await client.call('sessions.list', {})).toMatchObject([{ name: 'tools', planned: true, members: 2 }])
  const before = await client.call('sessions.get', { session: 'tools' })
  expect(before).toMatchObject({ name: 'tools', tags: ['daily'], open: false })
  expect(before.members.map(({ name }) => name)).toEqual(['shout', 'same'])
  const listed = (await client.call('nodes.list', {})).map(({ name, planned }) => [name, planned])
  expect(listed).toEqual([
    ['shout', true],
    ['same', true],
  ])
  expect(await client.node('shout').execute('a')).toBe('A')
  expect(await client.node('same').execute({ b: 1 })).toEqual({ b: 1 })
  const after = await client.call('sessions.get', { session: 'tools' })
  expect(after).toMatchObject({ name: 'tools', tags: ['daily'], open: true })
  expect((await client.call('nodes.list', {})).map(({ planned }) => planned)).toEqual([true, true])
  await expect(client.call('sessions.get', { session: 'none' })).rejects.toMatchObject({ code: 'not-found' })
})
