import { describe, expect, it } from 'vitest'
import { checkLayout, type Exception } from './layout.ts'

/** Each problem as `file:line [rule]`. */
function check(files: Record<string, string>, exceptions: Exception[] = []): string[] {
  const sources = Object.entries(files).map(([path, text]) => ({ path, text }))
  return checkLayout(sources, exceptions).map(({ file, line, rule }) => `${file}:${line} [${rule}]`)
}

function importing(target: string): string {
  return `import { x } from '${target}'\nexport const y = x\n`
}

const lines = (count: number) => 'export {}\n'.repeat(count)

describe('rooms', () => {
  it('accepts the rooms of the blueprint and the door', () => {
    expect(check({ 'src/index.ts': '', 'src/base/a.ts': '', 'src/surfaces/cli/main.ts': '' })).toEqual([])
  })

  it('refuses a folder that is no room, and a loose file', () => {
    const found = check({ 'src/cellar/a.ts': '', 'src/loose.ts': '', 'src/door/a.ts': '', 'src/constructor/a.ts': '' })
    expect(found).toEqual([
      'src/cellar/a.ts:1 [room]',
      'src/constructor/a.ts:1 [room]',
      'src/door/a.ts:1 [room]',
      'src/loose.ts:1 [room]',
    ])
  })
})

describe('arrows', () => {
  it.each([
    ['src/engine/a.ts', '../journal/b.ts'],
    ['src/journal/a.ts', '../base/b.ts'],
    ['src/define/a.ts', '../engine/b.ts'],
    ['src/host/a.ts', '../stores/b.ts'],
    ['src/surfaces/cli/a.ts', '../../host/api.ts'],
    ['src/surfaces/cli/a.ts', './deeper/b.ts'],
    ['src/surfaces/cli/a.ts', '../client/b.ts'],
    ['src/surfaces/cli/a.ts', '../mcp/b.ts'],
    ['src/surfaces/mcp/a.ts', '../client/b.ts'],
    ['src/client.ts', './surfaces/client/b.ts'],
    ['src/surfaces/cli/deeper/a.ts', '../b.ts'],
    ['src/testing/a.ts', '../host/b.ts'],
    ['src/index.ts', './define/b.ts'],
    ['src/base/a.ts', 'node:fs'],
    ['src/base/a.test.ts', '../host/b.ts'],
    ['test/a.test.ts', '../src/testing/index.ts'],
    ['examples/tour/main.ts', 'nerve'],
  ])('lets %s import %s', (from, to) => {
    expect(check({ [from]: importing(to) })).toEqual([])
  })

  it.each([
    ['src/base/a.ts', '../journal/b.ts'],
    ['src/journal/a.ts', '../engine/b.ts'],
    ['src/engine/a.ts', '../nodes/b.ts'],
    ['src/engine/a.ts', '../stores/b.ts'],
    ['src/define/a.ts', '../host/b.ts'],
    ['src/nodes/a.ts', '../define/b.ts'],
    ['src/stores/a.ts', '../engine/b.ts'],
    ['src/projections/a.ts', '../engine/b.ts'],
    ['src/host/a.ts', '../surfaces/cli/b.ts'],
    ['src/host/a.ts', '../testing/b.ts'],
    ['src/host/a.ts', 'nerve/testing'],
    ['src/engine/a.ts', 'nerve'],
    ['src/surfaces/cli/a.ts', '../web/b.ts'],
    ['src/surfaces/client/a.ts', '../server/b.ts'],
    ['src/surfaces/server/a.ts', '../mcp/b.ts'],
    ['src/surfaces/server/a.ts', '../cli/b.ts'],
    ['src/index.ts', './surfaces/client/b.ts'],
    ['src/client.ts', './surfaces/server/b.ts'],
    ['src/surfaces/cli/a.ts', '../../engine/b.ts'],
    ['src/surfaces/cli/a.ts', '../../journal/b.ts'],
    ['src/testing/a.ts', '../surfaces/cli/b.ts'],
    ['src/index.ts', './stores/b.ts'],
    ['src/base/a.ts', '../../bench/b.ts'],
  ])('does not let %s import %s', (from, to) => {
    expect(check({ [from]: importing(to) })).toEqual([`${from}:1 [arrow]`])
  })

  it('sees every way to import', () => {
    const text = [
      `export { x } from '../engine/b.ts'`,
      `export * from '../engine/b.ts'`,
      `export const lazy = () => import('../engine/b.ts')`,
      `export type T = import('../engine/b.ts').T`,
      `import type { U } from '../engine/b.ts'`,
      `import '../engine/b.ts'`,
    ].join('\n')
    expect(check({ 'src/base/a.ts': text })).toEqual([1, 2, 3, 4, 5, 6].map((line) => `src/base/a.ts:${line} [arrow]`))
  })

  it('lets surfaces import types, and only types, from the journal', () => {
    const file = 'src/surfaces/cli/a.ts'
    expect(check({ [file]: `import type { E } from '../../journal/b.ts'` })).toEqual([])
    expect(check({ [file]: `import { type E } from '../../journal/b.ts'` })).toEqual([`${file}:1 [arrow]`])
  })
})

describe('cycles', () => {
  it('finds one through several files, once', () => {
    const files = {
      'src/base/a.ts': importing('./b.ts'),
      'src/base/b.ts': importing('./c.ts'),
      'src/base/c.ts': importing('./a.ts'),
      'src/base/d.ts': importing('./a.ts'),
    }
    expect(check(files)).toEqual(['src/base/a.ts:1 [cycle]'])
  })

  it('does not count `import type`, and counts `import { type }`', () => {
    const back = (text: string) => ({ 'src/base/a.ts': importing('./b.ts'), 'src/base/b.ts': text })
    expect(check(back(`import type { x } from './a.ts'`))).toEqual([])
    expect(check(back(`import { type x } from './a.ts'`))).toEqual(['src/base/a.ts:1 [cycle]'])
  })

  it('counts in test files too', () => {
    const files = { 'src/base/a.test.ts': importing('./b.test.ts'), 'src/base/b.test.ts': importing('./a.test.ts') }
    expect(check(files)).toEqual(['src/base/a.test.ts:1 [cycle]'])
  })

  it('accepts two ways to the same file', () => {
    const files = {
      'src/base/a.ts': `${importing('./b.ts')}import './c.ts'\n`,
      'src/base/b.ts': importing('./c.ts'),
      'src/base/c.ts': '',
    }
    expect(check(files)).toEqual([])
  })
})

describe('only the engine appends', () => {
  const call = 'declare const store: { append(): void }\nstore.append()\n'

  it.each(['src/engine/a.ts', 'src/stores/a.ts', 'src/testing/a.ts', 'src/host/a.test.ts', 'bench/a.ts'])(
    'accepts it in %s',
    (file) => {
      expect(check({ [file]: call })).toEqual([])
    },
  )

  it.each([
    ['a call', 'store.append()'],
    ['an optional call', 'store?.append?.()'],
    ['a reference', 'const f = store.append'],
    ['a quoted name', `store['append']()`],
  ])('refuses %s elsewhere', (_what, text) => {
    expect(check({ 'src/host/a.ts': text })).toEqual(['src/host/a.ts:1 [append]'])
  })
})

describe('names', () => {
  it.each([
    'src/base/utils.ts',
    'src/base/string-utils.ts',
    'src/host/helpers/a.ts',
    'src/base/common.ts',
    'test/misc.ts',
  ])('refuses %s, which says nothing', (file) => {
    expect(check({ [file]: '' })).toEqual([`${file}:1 [name]`])
  })

  it.each(['src/engine/stepV2.ts', 'src/engine/step-v2.ts', 'src/engine/new-step.ts', 'src/legacy/a.ts'])(
    'refuses %s, which is about history',
    (file) => {
      expect(check({ [file]: '' })).toContain(`${file}:1 [name]`)
    },
  )

  it('looks at whole words', () => {
    expect(check({ 'src/base/renewal.ts': '', 'src/base/commons-fund.ts': '' })).toEqual([])
  })
})

describe('size', () => {
  const longFunction = (length: number) => `export function f() {\n${'//\n'.repeat(length - 2)}}\n`

  it('refuses the 401st line of a file', () => {
    expect(check({ 'src/base/a.ts': lines(400) })).toEqual([])
    expect(check({ 'src/base/a.ts': lines(401) })).toEqual(['src/base/a.ts:1 [file-size]'])
    expect(check({ 'src/base/a.test.ts': lines(401) })).toEqual(['src/base/a.test.ts:1 [file-size]'])
  })

  it('refuses the 61st line of a function, but not in tests and conformance suites', () => {
    expect(check({ 'src/base/a.ts': longFunction(60) })).toEqual([])
    expect(check({ 'src/base/a.ts': `\n${longFunction(61)}` })).toEqual(['src/base/a.ts:2 [function-size]'])
    expect(check({ 'src/base/a.test.ts': longFunction(61) })).toEqual([])
    expect(check({ 'src/testing/store-conformance.ts': longFunction(61) })).toEqual([])
  })

  it('measures methods and arrows', () => {
    const body = `{\n${'//\n'.repeat(60)}}`
    const text = `export class C {\n  m() ${body}\n}\nexport const f = () => ${body}\n`
    expect(check({ 'src/base/a.ts': text })).toEqual([
      'src/base/a.ts:2 [function-size]',
      'src/base/a.ts:65 [function-size]',
    ])
  })
})

describe('exceptions', () => {
  const files = { 'src/base/a.ts': lines(401) }
  const exception = { file: 'src/base/a.ts', rule: 'file-size', reason: 'one table' }
  const fault = ['scripts/layout-exceptions.json:1 [exception]']

  it('cover one rule in one file', () => {
    expect(check(files, [exception])).toEqual([])
    expect(check({ ...files, 'src/base/b.ts': lines(401) }, [exception])).toEqual(['src/base/b.ts:1 [file-size]'])
  })

  it('need a reason', () => {
    expect(check(files, [{ ...exception, reason: ' ' }])).toEqual(fault)
  })

  it('must be needed', () => {
    expect(check({ 'src/base/a.ts': '' }, [exception])).toEqual(fault)
  })

  it('must name a rule', () => {
    expect(check({}, [{ ...exception, rule: 'taste' }])).toEqual(fault)
  })
})

it('reports a file that does not parse', () => {
  expect(check({ 'src/base/a.ts': 'export const = 1\n' })).toEqual(['src/base/a.ts:1 [syntax]'])
})
