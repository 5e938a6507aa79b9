/** What a person sees at a terminal: the screen redrawn in place, questions asked right there, the cursor given back. */
import { afterEach, describe, expect, test } from 'vitest'
import { NOTHING, problemLines, typed, typedLine } from '../../src/surfaces/cli/prompt.ts'
import { Screen, type Frame } from '../../src/surfaces/cli/screen.ts'
import { renderLine } from '../../src/surfaces/cli/style.ts'
import { HAS_TERMINAL, project, type Project } from './nerve.ts'
import { TerminalScreen } from './terminal-screen.ts'
import * as files from './workflows.ts'

describe('the screen', () => {
  const plain = (...lines: string[]): Frame => ({ lines: lines.map((text) => [{ text }]) })

  test('redraws in place, keeps what others print above, and leaves the last lines', () => {
    const terminal = new TerminalScreen(20, 10)
    let frame = plain('one', 'two')
    const screen = new Screen(terminal, { color: false, draw: () => frame })
    screen.redraw()
    frame = plain('one', 'three', 'four')
    screen.redraw()
    expect(terminal.text).toBe('one\nthree\nfour')
    expect(terminal.cursorHidden).toBe(true)
    screen.above('hello ')
    screen.above('there\nand')
    expect(terminal.text).toBe('hello there\none\nthree\nfour')
    frame = plain('short')
    screen.redraw()
    screen.close([[{ text: 'done' }]])
    expect(terminal.text).toBe('hello there\nand\ndone\n')
    expect(terminal.cursorHidden).toBe(false)
    expect(terminal.listening).toBe(0)
    screen.redraw()
    expect(terminal.text).toBe('hello there\nand\ndone\n')
  })

  test('never draws more than fits, however narrow or low the terminal is', () => {
    const terminal = new TerminalScreen(12, 5)
    const long = Array.from({ length: 30 }, (_, index) => `line ${index} with much more text`)
    const screen = new Screen(terminal, { color: true, draw: () => plain(...long) })
    for (let i = 0; i < 5; i += 1) screen.redraw()
    expect(terminal.lines.length).toBeLessThan(5)
    expect(Math.max(...terminal.lines.map((line) => line.length))).toBeLessThan(12)
    screen.close([])
    expect(terminal.text).toBe('')
  })

  test('streams that it captured write again when it is closed', () => {
    const terminal = new TerminalScreen(20, 10)
    const stream = { write: (text: string) => terminal.write(`direct ${text}`) }
    const screen = new Screen(terminal, { color: false, draw: () => plain('frame') })
    screen.capture(stream)
    stream.write('caught\n')
    expect(terminal.text).toBe('caught\nframe')
    screen.close([])
    stream.write('again')
    expect(terminal.text).toBe('caught\ndirect again')
  })
})

describe('the line being typed', () => {
  const type = (...keys: (string | { name: string; ctrl?: boolean })[]) =>
    keys.reduce((line, key) => typed(line, typeof key === 'string' ? { sequence: key } : key), NOTHING)

  test('takes letters, pasted text and emoji, and is edited by keys', () => {
    expect(type('a', 'b', { name: 'backspace' }, 'c').text).toBe('ac')
    expect(type('abc', { name: 'left' }, { name: 'left' }, 'X').text).toBe('aXbc')
    expect(type('👩‍👩‍👧x', { name: 'backspace' }, { name: 'backspace' }).text).toBe('')
    expect(type('one two', { name: 'w', ctrl: true }).text).toBe('one ')
    expect(type('one', { name: 'home' }, { name: 'delete' }).text).toBe('ne')
    expect(type('one', { name: 'u', ctrl: true }).text).toBe('')
    expect(type('pasted\nline\u001B[31m').text).toBe('pasted line')
    expect(type('a', { name: 'x', ctrl: true }).text).toBe('a')
  })

  test('keeps the lines of what is pasted, and shows them in one', () => {
    const line = typed(type('a', 'b', { name: 'left' }), { name: 'paste', sequence: 'one\r\ntwo\rx\ty\u001B[31m' })
    expect(line).toEqual({ text: 'aone\ntwo\nx\tyb', cursor: 12 })
    const shown = typedLine(line, 40)
    expect(shown.line.map(({ text }) => text).join('')).toBe('> aone↵two↵x yb')
    expect(shown.column).toBe(14)
  })

  test('why an answer was not taken ends with what can be done, however long it is', () => {
    const problem = `"${'word '.repeat(40)}" is not a choice of 'Publish?'. Choose 1 (publish), 2 (revise).`
    const lines = problemLines(problem, 40).map((line) => renderLine(line, 39, false))
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(/^ {2}"word .*…$/)
    expect(lines.slice(1).join(' ').replaceAll(/ +/g, ' ')).toContain('Choose 1 (publish), 2 (revise).')
    expect(problemLines('short', 40)).toHaveLength(1)
  })

  test('is moved along in a narrow terminal', () => {
    const { line, column } = typedLine({ text: 'a'.repeat(50), cursor: 50 }, 20)
    expect(column).toBeLessThan(20)
    expect(line.map(({ text }) => text).join('').length).toBeLessThan(20)
  })
})

describe.skipIf(!HAS_TERMINAL)('at a terminal', () => {
  let here: Project
  afterEach(() => here.remove())
  const open = (workflows: Readonly<Record<string, string>>): Project => (here = project(workflows))
  const seen = (out: string, size: readonly [number, number] = [80, 24]): TerminalScreen => {
    const screen = new TerminalScreen(...size)
    screen.write(out)
    return screen
  }

  test('what is pasted answers one question, however many lines it has, and only after Enter', async () => {
    const { terminal } = open({ 'asking.ts': files.asking })
    const pasted = (text: string): string => `\u001B[200~${text}\u001B[201~`
    const { code, out } = await terminal(
      ['run', 'asking.ts'],
      [
        ['within', pasted('2\nMallory\n')],
        ['2↵Mallory↵', '\u0015' + '2\r'],
        ['Under which name?', pasted('Ada\rLovelace')],
        ['Ada↵Lovelace', '\r'],
      ],
    ).ended
    expect(code).toBe(0)
    expect(seen(out).text).toContain('"answer": "revise"')
    expect(seen(out).text).toContain('"name": "Ada\\nLovelace"')
    expect(out.lastIndexOf('\u001B[?2004l')).toBeGreaterThan(out.lastIndexOf('\u001B[?2004h'))
  })

  test('questions are asked right there, by number, label or text, and a wrong answer again', async () => {
    const { terminal, effects } = open({ 'asking.ts': files.asking })
    const { code, out } = await terminal(
      ['run', 'asking.ts'],
      [
        ['within', 'maybe\r'],
        ['is not a choice', '2\r'],
        ['Under which name?', 'Ada\r'],
      ],
    ).ended
    const screen = seen(out)
    expect(code).toBe(0)
    expect(screen.text).toMatch(/✓ asking .*\n {2}✓ before.*\n {2}✓ ask {2}Publish this\? {2}→ revise/)
    expect(screen.text).toContain('"name": "Ada"')
    expect(screen.text).not.toContain('is not a choice')
    expect(screen.cursorHidden).toBe(false)
    expect(effects()).toEqual(['after-revise', 'before'])
  })

  test('an answer from another process lets it go on, and keys that come late do not answer the next question', async () => {
    const { terminal, nerve, until } = open({ 'asking.ts': files.asking })
    const keys = [
      ['Under which name?', 'lish\r'],
      ['> ', 'Bob\r'],
    ] as const
    const first = terminal(['run', 'asking.ts'], keys)
    await first.shown('1 publish'.slice(2))
    await until(
      async () => JSON.parse((await nerve(['inbox', '--json'])).out).length === 1,
      'the question is in the inbox',
    )
    const answered = await nerve(['answer', 'last', 'publish', '--json'])
    expect(answered.code).toBe(0)
    expect(JSON.parse(answered.out)).toMatchObject({ type: 'result', driven: false })
    const { code, out } = await first.ended
    expect(code).toBe(0)
    expect(seen(out).text).toMatch(/→ publish[^]*"name": "Bob"/)
  })

  test('a terminal that says it has no columns is as wide as usual', async () => {
    const { terminal } = open({ 'asking.ts': files.asking })
    const size = [0, 0] as const
    const keys = [
      ['revise', '2\r'],
      ['Under which name?', 'Ada\r'],
    ] as const
    const { code, out } = await terminal(['run', 'asking.ts'], keys, { size }).ended
    expect(code).toBe(0)
    expect(seen(out).text).toMatch(/✓ ask {2}Publish this\? {2}→ revise/)
    const ps = await terminal(['ps'], [], { size }).ended
    expect(seen(ps.out).text).toMatch(/RUN +NAME +STATUS +AGE\n\w{16} {2}asking {2}completed/)
    const help = await terminal(['ps', '--help'], [], { size }).ended
    expect(seen(help.out).text).toContain('only runs of this status, such as waiting or failed;')
  })

  test.each([
    [28, 10],
    [28, 24],
    [80, 10],
  ] as const)('a question that is longer than a window of %d by %d can be read, and answered', async (...size) => {
    const detail = Array.from({ length: 30 }, (_, index) => `detail ${index} ends`)
    const choices = [
      'one',
      'a choice that has a name longer than windows',
      ...Array.from({ length: 8 }, (_, n) => `c${n}`),
    ]
    const long = `import { workflow } from 'nerve'
export default workflow('long', (ctx) => ctx.ask('First of it.\\n' + 'many words '.repeat(20) + 'x'.repeat(60) + ' Last of it?', ${JSON.stringify({ detail, choices })}))`
    const { terminal } = open({ 'long.ts': long })
    const keys = [
      ['> ', 'nothing of these\r'],
      ['"nothing of these" is', '3\r'],
    ] as const
    const { code, out } = await terminal(['run', 'long.ts'], keys, { size, env: { NO_COLOR: '1' } }).ended
    expect(code).toBe(0)
    const { lines, text } = seen(out, size)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(size[0])
    const whole = text.replaceAll(/\s+/g, ' ')
    for (const part of ['First of it.', 'Last of it?', ...choices]) expect(whole).toContain(part)
    for (const part of detail) expect(whole).toContain(part)
    expect(whole.replaceAll(' ', '')).toContain('x'.repeat(60))
    // Once, however often it is drawn.
    expect(whole.split('First of it.')).toHaveLength(3)
    expect(whole).toMatch(/✓ long.* c0 ?$/)
  })

  test('Ctrl-C at a question parks the run, and resume asks it again', async () => {
    const { terminal, nerve } = open({ 'asking.ts': files.asking })
    const { code, out } = await terminal(['run', 'asking.ts'], [['within', '\u0003']]).ended
    expect(code).toBe(3)
    const screen = seen(out)
    expect(screen.text).toMatch(/paused {2}asking[^]*nerve resume \w+/)
    expect(screen.cursorHidden).toBe(false)
    expect(JSON.parse((await nerve(['show', 'last', '--json'])).out).status).toBe('paused')
    const resumed = await terminal(
      ['resume', 'last'],
      [
        ['within', '1\r'],
        ['Under which', 'Eve\r'],
      ],
    ).ended
    expect(resumed.code).toBe(0)
    expect(seen(resumed.out).text).toContain('"name": "Eve"')
  })

  test('Ctrl-C twice cancels', async () => {
    const { terminal } = open({ 'slow.ts': files.slow })
    const { code, out } = await terminal(
      ['run', 'slow.ts'],
      [
        ['holding', '\u0003'],
        ['Pausing', '\u0003'],
      ],
    ).ended
    expect(code).toBe(5)
    expect(seen(out).text).toMatch(/cancelled {2}slow/)
  })

  test('what the workflow prints stands above the tree; NO_COLOR and narrow terminals are honoured', async () => {
    const { terminal, write } = open({ 'slow.ts': files.slow })
    write('go', '')
    const { code, out } = await terminal(['run', 'slow.ts'], [], { size: [24, 8], env: { NO_COLOR: '1' } }).ended
    expect(out).not.toContain('\u001B[1m')
    expect(code).toBe(0)
    expect(seen(out, [24, 8]).text).toMatch(/^holding\n✓ slow/)
  })
})
