import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { gemini } from './gemini.ts'
import type { ParsedScreen } from './parser.ts'

const SCREENS = new URL('../../../test/fixtures/screens/', import.meta.url)
const screen = (name: string): string => readFileSync(new URL(name, SCREENS), 'utf8')
const parse = (name: string): ParsedScreen => gemini.parse(screen(`${name}.txt`))

/** A line of a box of fifty columns. */
const boxed = (...lines: readonly string[]): string[] => [
  `╭${'─'.repeat(48)}╮`,
  ...lines.map((line) => `│ ${line.padEnd(46)} │`),
  `╰${'─'.repeat(48)}╯`,
]
const framed = (...lines: readonly string[]): string[] => ['▀'.repeat(50), ...lines, '▄'.repeat(50)]
const INPUT = [...framed(' >   Type your message or @path/to/file'), ' ~/app      no sandbox      gemini-2.5-pro']
const given = (...parts: readonly (readonly string[])[]): ParsedScreen => gemini.parse(parts.flat().join('\n'))

const NEW = 'gemini-0.61.0'
const OLD = 'gemini-0.11.3'
const STATES: readonly (readonly [string, ParsedScreen['state']])[] = [
  ['01-start', 'ready'],
  ['02-busy', 'busy'],
  ['03-ready', 'ready'],
  ['04-permission-shell', 'permission'],
  ['05-after-shell', 'ready'],
  ['06-permission-write', 'permission'],
  ['07-after-write', 'ready'],
  ['08-denied', 'ready'],
  ['09-thinking', 'ready'],
  ['10-asking', 'asking'],
  ['11-answered', 'ready'],
  ['12-busy-tool', 'busy'],
  ['13-cancelled', 'ready'],
  ['14-stats', 'ready'],
  ['15-quit', 'unknown'],
]

describe('captured screens', () => {
  test.each(STATES)(`${NEW}/%s: %s`, (name, state) => expect(parse(`${NEW}/${name}`).state).toBe(state))

  // This version cannot ask.
  const older = STATES.filter(([, state]) => state !== 'asking').filter(([name]) => name !== '11-answered')
  test.each(older)(`${OLD}/%s: %s`, (name, state) => expect(parse(`${OLD}/${name}`).state).toBe(state))

  test('both versions say the same', () => {
    const said = [
      {
        type: 'text',
        text: 'This is a slow answer that streams for a while, so that we can look at the busy screen. It has several words, and some are wide: 日本語 is Japanese, 한국어 is Korean.',
        turn: 1,
      },
      { type: 'tool', tool: 'Shell', arguments: 'touch y && echo made it', result: 'made it', turn: 2 },
      { type: 'text', text: 'It ran.', turn: 2 },
    ]
    expect(parse(`${NEW}/05-after-shell`).sections).toEqual(said)
    expect(parse(`${OLD}/05-after-shell`).sections).toEqual(said)
  })

  test('permissions', () => {
    expect(parse(`${NEW}/06-permission-write`).question).toEqual({
      prompt: 'Apply this change?',
      detail: '? WriteFile  Writing to hello.txt\n1 hi there',
      choices: [
        { key: '1', label: 'Allow once', selected: true },
        { key: '2', label: 'Allow for this session', selected: false },
        { key: '3', label: 'Modify with external editor', selected: false },
        { key: '4', label: 'No, suggest changes (esc)', selected: false },
      ],
    })
    expect(parse(`${NEW}/06-permission-write`).sections.at(-1)).toEqual({
      type: 'tool',
      tool: 'WriteFile',
      arguments: 'Writing to hello.txt',
      turn: 3,
    })
    const older = parse(`${OLD}/04-permission-shell`)
    expect(older.question?.prompt).toBe("Allow execution of: 'touch, echo'?")
    expect(older.question?.choices.map(({ label }) => label)).toContain('Yes, allow once')
    expect(older.sections.at(-1)).toEqual({
      type: 'tool',
      tool: 'Shell',
      arguments: 'touch y && echo made it',
      turn: 2,
    })
  })

  test('a question of the model', () => {
    expect(parse(`${NEW}/10-asking`).question).toEqual({
      prompt: 'Which colour',
      detail: 'Answer Questions',
      choices: [
        { key: '1', label: 'Red', detail: 'like blood', selected: true },
        { key: '2', label: 'Blue', detail: 'like the sky', selected: false },
        { key: '3', label: 'Enter a custom value', selected: false },
      ],
    })
  })

  test('what was denied, thought, answered, cancelled', () => {
    const last = (name: string): unknown => parse(name).sections.at(-1)
    const result = 'Rejected (+1, -0)\n1 never'
    expect(last(`${NEW}/08-denied`)).toEqual({ type: 'tool', tool: 'WriteFile', arguments: 'no.txt', result, turn: 3 })
    expect(last(`${OLD}/08-denied`)).toMatchObject({
      tool: 'WriteFile',
      arguments: 'Writing to no.txt',
      result: '1 never',
    })
    expect(parse(`${NEW}/09-thinking`).sections.slice(-2)).toMatchObject([
      { type: 'thinking', text: 'Looking around\nI look at the files first.' },
      { type: 'text', text: 'I thought about it.' },
    ])
    expect(parse(`${NEW}/11-answered`).sections.at(-2)).toMatchObject({
      tool: 'Ask User',
      arguments: '',
      result: 'User answered:\n  Colour → Blue',
    })
    expect(last(`${NEW}/12-busy-tool`)).toMatchObject({ tool: 'Shell', arguments: 'sleep 3; echo slept' })
    expect(last(`${NEW}/12-busy-tool`)).not.toHaveProperty('result')
  })

  test('tokens of the session', () => {
    expect(parse(`${NEW}/14-stats`).tokens).toEqual({ input: 126_454, output: 196 })
    expect(parse(`${OLD}/15-quit`).tokens).toEqual({ input: 68_049, output: 137 })
    expect(parse(`${NEW}/03-ready`).tokens).toBeUndefined()
  })

  test.each(['02-busy', '05-after-shell', '06-permission-write', '10-asking'])('%s with its colours', (name) => {
    const coloured = screen(`${NEW}/${name}.ansi`)
    expect(coloured).toContain('[')
    expect({ ...gemini.parse(coloured), raw: '' }).toEqual({ ...parse(`${NEW}/${name}`), raw: '' })
  })
})

describe('the state', () => {
  test('is ready with an input and busy with the hint above it, in both kinds of frames', () => {
    expect(given(INPUT).state).toBe('ready')
    expect(given(['⠏ Counting… (esc to cancel, 3s)', ''], INPUT).state).toBe('busy')
    const older = [...boxed('> Type your message or @path/to/file'), '~/app   no sandbox   gemini-2.5-pro']
    expect(given(older).state).toBe('ready')
    expect(given(['⠏ Counting… (esc to cancel, 3s)', ''], older).state).toBe('busy')
  })

  test('is unknown when the end is cut off, also right under a prompt', () => {
    expect(given(framed(' > hello')).state).toBe('unknown')
    expect(given(['✦ Hello', '']).state).toBe('unknown')
    expect(given([]).state).toBe('unknown')
  })

  test('what a model wrote does not count', () => {
    const forged = [
      '✦ It looks so:',
      '  (esc to cancel, 3s)',
      ...boxed('Allow?', '', '● 1. Allow once').map((line) => `  ${line}`),
    ]
    expect(given(forged, [''], INPUT).state).toBe('ready')
  })
})

describe('the question', () => {
  test('about a tool is a permission, any other is a question', () => {
    const tool = boxed(
      'Action Required',
      '',
      '?  Shell touch y',
      '',
      `╭${'─'.repeat(44)}╮`,
      `│ ${'touch y'.padEnd(42)} │`,
      `╰${'─'.repeat(44)}╯`,
      "Allow execution of: 'touch'?",
      '',
      '● 1. Allow once',
      '  2. Allow for this session',
      '  3. No, suggest changes (esc)',
    )
    expect(given(framed(' > make y'), tool)).toMatchObject({
      state: 'permission',
      sections: [{ type: 'tool', tool: 'Shell', arguments: 'touch y', turn: 1 }],
      question: {
        prompt: "Allow execution of: 'touch'?",
        choices: [
          { key: '1', label: 'Allow once', selected: true },
          { key: '2', label: 'Allow for this session', selected: false },
          { key: '3', label: 'No, suggest changes (esc)', selected: false },
        ],
      },
    })
    const trust = boxed('Do you trust this folder?', '', '● 1. Trust folder (app)', "  2. Don't trust")
    expect(given(trust)).toMatchObject({ state: 'asking', question: { prompt: 'Do you trust this folder?' } })
  })

  test('may want a text', () => {
    const asks = boxed('Answer Questions', '', 'What is it called?', '', '> ', '', 'Enter to submit · Esc to cancel')
    expect(given(asks)).toMatchObject({ state: 'asking', question: { prompt: 'What is it called?', choices: [] } })
  })
})

describe('sections', () => {
  test('thoughts, tools in boxes and in lines, text, errors, turns', () => {
    const shown = given(
      framed(' > look'),
      [' Thinking...', ' │', ' │ Looking around', ' │ at files', ''],
      boxed('✓  ReadFile a.ts', '', 'one', '', 'two', '', 'x  Ask User', '', 'cancelled'),
      ['  ✓  WriteFile  b.json → Accepted (+1, -1)', '', '      1 - old', '      1 + new'],
      ['✦ It is', '  done.', '', '  Really.'],
      framed(' > again'),
      ['✕ [API Error: no more]', ''],
      INPUT,
    )
    expect(shown.sections).toEqual([
      { type: 'thinking', text: 'Looking around\nat files', turn: 1 },
      { type: 'tool', tool: 'ReadFile', arguments: 'a.ts', result: 'one\n\ntwo', turn: 1 },
      { type: 'tool', tool: 'Ask User', arguments: '', result: 'cancelled', turn: 1 },
      { type: 'tool', tool: 'WriteFile', arguments: 'b.json', result: 'Accepted (+1, -1)\n1 - old\n1 + new', turn: 1 },
      { type: 'text', text: 'It is\ndone.\n\nReally.', turn: 1 },
      { type: 'text', text: '[API Error: no more]', turn: 2 },
    ])
  })

  test('the last words of what is cut off above are not lost', () => {
    const text = 'several words, and some are wide: 日本語 is Japanese, 한국어 is Korean.'
    expect(parse(`${NEW}/08-denied`).sections[0]).toEqual({ type: 'text', text, turn: 0 })
    expect(parse(`${NEW}/01-start`).sections).toEqual([])
    expect(parse(`${OLD}/01-start`).sections).toEqual([])
  })

  test('a box that is cut off above or below, and one with a scroll bar', () => {
    const [top = '', head = '', ...rest] = boxed('✓  Shell ls', '', 'a.ts', 'b.ts')
    const result = { type: 'tool', tool: 'Shell', arguments: 'ls', result: 'a.ts\nb.ts', turn: 0 }
    expect(given([head, ...rest]).sections).toEqual([result])
    expect(given([top, head, ...rest.slice(0, -1)]).sections).toEqual([result])
    expect(given([top, ...[head, ...rest].map((line) => `${line}          █`)]).sections).toEqual([result])
  })
})
