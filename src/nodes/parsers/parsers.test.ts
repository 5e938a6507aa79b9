import { readFileSync, readdirSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isNerveError } from '../../base/nerve-error.ts'
import { SECTION_TYPES, type ParsedScreen } from './parser.ts'
import { PARSER_NAMES, parsed, parserNamed } from './registry.ts'

const SCREENS = new URL('../../../test/fixtures/screens/', import.meta.url)
const STATES = ['ready', 'busy', 'asking', 'permission', 'unknown']

/** What screens are made of, in every wrong order. */
const PIECES = [
  '\n',
  '\r\n',
  ' ',
  '  ',
  '    ',
  '\t',
  '●',
  '● ',
  '⏺ ',
  '❯ ',
  '> ',
  '✦ ',
  '✕ ',
  '⎿',
  '  ⎿  ',
  '│',
  '│ ',
  ' │',
  '╭',
  '╰',
  '╮',
  '╯',
  '──────────────────────',
  '▀▀▀▀▀▀▀▀▀▀▀▀▀▀',
  '▄▄▄▄▄▄▄▄▄▄▄▄▄▄',
  '╭────────────╮\n',
  '╰────────────╯\n',
  '1. Yes\n',
  ' ❯ 1. Yes\n',
  '● 1. Allow once',
  '   2. No\n',
  'Do you want to ',
  '?',
  'Esc to cancel',
  'Enter to select',
  'esc to interrupt',
  '(esc to cancel, 3s)',
  '✻ Thinking…',
  '✻ Herding… (2s · ↓ 26 tokens)',
  'Write(',
  ')',
  '(MCP)(',
  '✓  ',
  'x  ',
  '-  ',
  ' → ',
  '$ ',
  '/compact',
  '日本語',
  '👩‍👩‍👧',
  '\u0301',
  '\uD800',
  '\u0000',
  '\u001B',
  '\u001B[',
  '\u001B[31m',
  '\u001B]0;',
  '\u0007',
  '\u009B',
  '\u001BP',
  '12',
  '999999999999999999999999 tokens',
  'Input Tokens  Output Tokens',
  'word',
]

/** What careless patterns choke on. */
const ENDLESS = [' ', '\n', '1', '\u001B]8;;a', '\u001B[1;', 'Do you want to ', '● a\n', '│ a │\n', '  a\n  ⎿  b\n\n']
const AROUND = [
  ['', ''],
  ['● ', '\n'],
  ['───────────\n', '\n Esc to cancel'],
]

const screens = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 120 }).map((pieces) => pieces.join('')),
)

function check(result: ParsedScreen, text: string): void {
  expect(result.raw).toBe(text)
  expect(STATES).toContain(result.state)
  expect(result.question !== undefined).toBe(result.state === 'asking' || result.state === 'permission')
  for (const section of result.sections) {
    expect(SECTION_TYPES).toContain(section.type)
    expect(section.turn).toBeGreaterThanOrEqual(0)
    expect(section.type === 'tool' ? section.tool : section.text).not.toBe('')
    expect(JSON.stringify(section)).not.toContain('\\u001b')
  }
  for (const amount of Object.values(result.tokens ?? {})) expect(Number.isFinite(amount)).toBe(true)
}

describe.each(PARSER_NAMES)('%s', (name) => {
  const parser = parserNamed(name)

  test('no text makes it throw', () => {
    fc.assert(
      fc.property(screens, (text) => check(parser.parse(text), text)),
      { numRuns: 1_000 },
    )
  })

  /** In milliseconds. */
  const timeOf = (piece: string, size: number, at: number): number => {
    const [before = '', after = ''] = AROUND[at % AROUND.length] ?? []
    const text = before + piece.repeat(Math.ceil(size / piece.length)) + after
    const start = performance.now()
    parser.parse(text)
    return performance.now() - start
  }

  // Each takes a few milliseconds, a few hundred at most. Quadratic time would be minutes.
  test('much of anything takes a moment', () => {
    const slow = [...PIECES, ...ENDLESS].filter((piece, at) => timeOf(piece, 200_000, at) > 3_000)
    expect(slow).toEqual([])
  }, 120_000)

  test.each(ENDLESS)('so does a megabyte of %j', (piece) => {
    for (let at = 0; at < AROUND.length; at++) expect(timeOf(piece, 1_000_000, at)).toBeLessThan(5_000)
  })
})

describe('captured screens that are cut off below', () => {
  const folders = readdirSync(SCREENS, { withFileTypes: true }).filter((entry) => entry.isDirectory())

  test.each(folders.map(({ name }) => name))('%s: are what they were, or unknown', (folder) => {
    const parser = parserNamed(folder.split('-')[0] ?? '')
    const wrong: string[] = []
    for (const file of readdirSync(new URL(folder, SCREENS)).filter((name) => name.endsWith('.txt'))) {
      const lines = readFileSync(new URL(`${folder}/${file}`, SCREENS), 'utf8')
        .trimEnd()
        .split('\n')
      const states = ['unknown', parser.parse(lines.join('\n')).state]
      for (let end = 0; end < lines.length; end++) {
        const { state } = parser.parse(lines.slice(0, end).join('\n'))
        if (!states.includes(state)) wrong.push(`${file} before line ${end + 1}: ${state}`)
      }
    }
    expect(wrong).toEqual([])
  })
})

describe('none', () => {
  test('gives the text as one section, without escapes', () => {
    const text = '\n\u001B[1mone\u001B[0m  \r\n\r\n two\n\n'
    expect(parserNamed('none').parse(text)).toEqual({
      sections: [{ type: 'text', text: 'one\n\n two', turn: 0 }],
      state: 'unknown',
      raw: text,
    })
    expect(parserNamed('none').parse(' \n').sections).toEqual([])
  })
})

describe('by name', () => {
  test('an unknown name is told what is known', () => {
    expect(() => parserNamed('cluade')).toThrow(
      "There is no parser 'cluade'. Did you mean 'claude'? Known: claude, gemini, none.",
    )
    expect(() => parsed('x' as never)).toThrow('Known: claude, gemini, none.')
  })

  test('as the parser of a step it takes texts and what holds one', () => {
    const says = parsed('claude')
    for (const output of ['● Hi', { screen: '● Hi', output: 'no' }, { output: '● Hi' }, { stdout: '● Hi' }])
      expect(says(output).sections).toEqual([{ type: 'text', text: 'Hi', turn: 0 }])
  })

  test('what holds no text is refused with what it was', () => {
    const says = parsed('claude') as (output: unknown) => unknown
    for (const [output, kind] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [3, 'number'],
      [{ code: 0 }, 'an object with code'],
    ] as const)
      try {
        says(output)
        expect.unreachable()
      } catch (error) {
        expect(isNerveError(error, 'bad-value')).toBe(true)
        expect((error as Error).message).toContain(`it got ${kind}.`)
      }
  })
})
