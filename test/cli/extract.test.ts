/** `nerve extract`: screens to text, JSON or one section. */
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HAS_TERMINAL, project, type Project } from './nerve.ts'

const SCREEN = readFileSync(
  new URL('../fixtures/screens/claude-2.1.325/06-after-allow-write.txt', import.meta.url),
  'utf8',
)
const ASKS = readFileSync(new URL('../fixtures/screens/claude-2.1.197/04-perm.txt', import.meta.url), 'utf8')
const FIRST =
  'This is a slow answer that streams for a while so that we can look at the busy screen. It has several words.'
const CALL = 'Write(hello.txt)\nWrote 1 line to hello.txt\n 1 hi there'

let here: Project
beforeEach(() => (here = project({ 'screen.txt': SCREEN, 'asks.txt': ASKS })))
afterEach(() => here.remove())

describe('text', () => {
  test('of a file, of a pipe, and of one section', async () => {
    const { nerve, has } = here
    const all = { code: 0, err: '', out: `${FIRST}\n\n${CALL}\n\nfile written\n` }
    expect(await nerve(['extract', 'screen.txt'])).toEqual(all)
    expect(await nerve(['extract', '-'], { input: SCREEN })).toEqual(all)
    expect(await nerve(['extract'], { input: SCREEN })).toEqual(all)
    expect((await nerve(['extract', 'screen.txt', '--section', 'tool'])).out).toBe(`${CALL}\n`)
    expect((await nerve(['extract', 'screen.txt', '--section', 'text', '--last'])).out).toBe('file written\n')
    expect(await nerve(['extract', 'screen.txt', '--section', 'thinking'])).toEqual({ code: 0, err: '', out: '' })
    expect(has('.nerve')).toBe(false)
  })

  test('with the parser that is named', async () => {
    const { nerve } = here
    expect((await nerve(['extract', '--parser', 'none'], { input: '\u001B[1m● Hi\u001B[0m\u0007\n' })).out).toBe(
      '● Hi\n',
    )
    expect((await nerve(['extract', '--parser', 'gemini'], { input: '✦ Hi there\n' })).out).toBe('Hi there\n')
  })
})

describe('json', () => {
  test('has the state, the sections and the question, but not the screen again', async () => {
    const { out, code } = await here.nerve(['extract', 'asks.txt', '--json'])
    expect(code).toBe(0)
    const { sections, question, ...rest } = JSON.parse(out) as Record<string, unknown>
    expect(rest).toEqual({ parser: 'claude', state: 'permission' })
    expect(sections).toHaveLength(2)
    expect(question).toMatchObject({
      prompt: 'Do you want to create hello.txt?',
      choices: [{ label: 'Yes', key: '1', selected: true }, {}, { label: 'No', key: '3', selected: false }],
    })
  })

  test('keeps to the chosen sections', async () => {
    const { out } = await here.nerve(['extract', 'screen.txt', '--json', '--section', 'text', '--last'])
    expect(JSON.parse(out)).toEqual({
      parser: 'claude',
      state: 'ready',
      sections: [{ type: 'text', text: 'file written', turn: 2 }],
    })
  })
})

describe('errors', () => {
  test('name what is known, and end with 2', async () => {
    const { nerve } = here
    const parser = await nerve(['extract', 'screen.txt', '--parser', 'gemni'])
    expect(parser).toMatchObject({ code: 2, out: '' })
    expect(parser.err).toBe("nerve: There is no parser 'gemni'. Did you mean 'gemini'? Known: claude, gemini, none.\n")
    const section = await nerve(['extract', 'screen.txt', '--section', 'tools'])
    expect(section).toMatchObject({ code: 2, out: '' })
    expect(section.err).toContain("no sections of the type 'tools'. Did you mean 'tool'? Known: text, thinking, tool.")
    const file = await nerve(['extract', 'nowhere.txt', '--json'])
    expect(file).toMatchObject({ code: 2, out: '' })
    expect(JSON.parse(file.err)).toMatchObject({
      error: { code: 'bad-file', message: expect.stringContaining('nowhere.txt') },
    })
    expect((await nerve(['extract', '.'])).code).toBe(2)
  })

  test.skipIf(!HAS_TERMINAL)('without a file or a pipe it asks for one', async () => {
    const { code, out } = await here.terminal(['extract'], []).ended
    expect(code).toBe(2)
    expect(out).toContain('which screen? Give a FILE, or pipe one in')
  })
})

test('the help has examples', async () => {
  const { out, code } = await here.nerve(['help', 'extract'])
  expect(code).toBe(0)
  expect(out).toContain('usage: nerve extract [FILE] [--parser NAME] [--section TYPE] [--last]')
  expect(out).toContain('tmux capture-pane -p | nerve extract --json')
})
