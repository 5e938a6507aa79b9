/** Rules are about a file, whatever links lead to it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { decide, planPermission, type PermissionPolicy } from './permission.ts'

let top: string
/** The folder that the agent works in, and a link to it. */
let real: string
let link: string

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'nerve-links-')))
  real = join(top, 'real')
  link = join(top, 'link')
  for (const folder of ['src', 'secret']) mkdirSync(join(real, folder), { recursive: true })
  mkdirSync(join(top, 'elsewhere'))
  writeFileSync(join(real, 'secret', 'key'), '')
  symlinkSync(real, link)
  symlinkSync(join(real, 'secret'), join(real, 'src', 'alias'))
  symlinkSync('../secret/key', join(real, 'src', 'key'))
  symlinkSync('../../elsewhere/not-there-yet', join(real, 'src', 'new'))
  symlinkSync('circle', join(real, 'src', 'circle'))
  symlinkSync(join(top, 'elsewhere'), join(real, 'out'))
  return () => rmSync(top, { recursive: true, force: true })
})

function said(policy: PermissionPolicy, path: string, cwd: string): string {
  const asked = { id: '1', tool: 'Edit', kind: 'edit', title: path, input: { file_path: path } } as const
  const decision = decide(planPermission('test', policy), asked, cwd)
  return decision === 'ask' ? 'ask' : 'allow' in decision && decision.allow ? 'allow' : 'deny'
}

const inReal = (path: string) => join(real, path)
const inLink = (path: string) => join(link, path)
const asIs = (path: string) => path
const CWDS = [
  ['in its folder', () => real],
  ['in a link to its folder', () => link],
] as const

describe.each(CWDS)('%s', (_, cwd) => {
  it.each([
    ['secret/a', asIs],
    ['secret/a', inReal],
    ['secret/a', inLink],
    ['src/alias/a', asIs],
    ['src/alias/a', inLink],
    ['src/key', inReal],
    ['src/alias/not/there/yet', inReal],
  ])('a rule denies %s', (path, named) => {
    const deny = { otherwise: 'allow' } as const
    expect(said({ ...deny, deny: ['edit(secret/*)'] }, named(path), cwd())).toBe('deny')
    expect(said({ ...deny, deny: [`edit(${real}/secret/*)`] }, named(path), cwd())).toBe('deny')
    expect(said({ ...deny, deny: [`edit(${link}/secret/*)`] }, named(path), cwd())).toBe('deny')
  })

  it.each([asIs, inReal, inLink])('a rule allows what is in a folder, and not what a link leads out of it', (named) => {
    for (const allow of ['edit(src/*)', `edit(${real}/src/*)`, `edit(${link}/src/*)`]) {
      expect(said({ allow: [allow] }, named('src/a'), cwd())).toBe('allow')
      for (const path of ['src/alias/a', 'src/key', 'src/new', 'src/circle', 'secret/a'])
        expect([path, said({ allow: [allow] }, named(path), cwd())]).toEqual([path, 'ask'])
    }
  })

  it('a way back from where a link leads is not the way there', () => {
    const way = 'src/alias/../.env'
    expect(said({ allow: ['edit(src/*)'] }, way, cwd())).toBe('ask')
    for (const deny of ['edit(.env)', 'edit(src/.env)'])
      expect(said({ deny: [deny], otherwise: 'allow' }, way, cwd())).toBe('deny')
  })

  it('a rule allows what it names itself, also a link', () => {
    for (const allow of ['edit(out/*)', 'edit(src/new)', 'edit(src/key)'])
      for (const named of [asIs, inReal, inLink])
        expect(said({ allow: [allow] }, named(allow.slice(5, -1).replace('*', 'a')), cwd())).toBe('allow')
  })
})
