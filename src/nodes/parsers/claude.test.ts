import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { claude } from './claude.ts'
import type { ParsedScreen } from './parser.ts'

const SCREENS = new URL('../../../test/fixtures/screens/', import.meta.url)
const screen = (name: string): string => readFileSync(new URL(`${name}.txt`, SCREENS), 'utf8')
const parse = (name: string): ParsedScreen => claude.parse(screen(name))

const STATES: Readonly<Record<string, ParsedScreen['state']>> = {
  'claude-2.1.197/01-start': 'ready',
  'claude-2.1.197/02-busy': 'busy',
  'claude-2.1.197/03-idle': 'ready',
  'claude-2.1.197/04-perm': 'permission',
  'claude-2.1.325-firstrun/01-start': 'asking',
  'claude-2.1.325-firstrun/02-up-enter': 'asking',
  'claude-2.1.325-firstrun/03-enter': 'ready',
  'claude-2.1.325/01-start': 'ready',
  'claude-2.1.325/02-busy-waiting': 'busy',
  'claude-2.1.325/03-busy-streaming': 'busy',
  'claude-2.1.325/04-idle-after-answer': 'ready',
  'claude-2.1.325/05-permission-write': 'permission',
  'claude-2.1.325/06-after-allow-write': 'ready',
  'claude-2.1.325/07-permission-bash': 'permission',
  'claude-2.1.325/08-after-deny-esc': 'ready',
  'claude-2.1.325/09-permission-bash2': 'permission',
  'claude-2.1.325/10-busy-tool': 'busy',
  'claude-2.1.325/11-interrupted': 'ready',
  'claude-2.1.325/12-ask-user': 'asking',
  'claude-2.1.325/13-ask-answered': 'ready',
  'claude-2.1.325/14-compacting': 'ready',
  'claude-2.1.325/16-cost': 'unknown',
  'claude-2.1.325/17-ctrlc1': 'ready',
  'claude-2.1.325/18-ctrlc2': 'unknown',
}

describe('the state', () => {
  test.each(Object.entries(STATES))('%s: %s', (name, state) => {
    expect(parse(name).state).toBe(state)
  })

  test('a screen that is cut at the bottom tells none', () => {
    const lines = screen('claude-2.1.325/10-busy-tool').trimEnd().split('\n')
    expect(claude.parse(lines.slice(0, -2).join('\n')).state).toBe('unknown')
  })

  test('an older version has boxes, and the hint beside the spinner', () => {
    const box = [
      '╭──────────────────────╮',
      '│ >                    │',
      '╰──────────────────────╯',
      '  ? for shortcuts',
    ]
    const above = ['> hello', '', '⏺ Hi', '', '✻ Herding… (3s · ↑ 1.2k tokens · esc to interrupt)', '']
    expect(claude.parse([...above, ...box].join('\n'))).toMatchObject({
      state: 'busy',
      tokens: { input: 1_200 },
      sections: [{ type: 'text', text: 'Hi', turn: 1 }],
    })
    expect(claude.parse([...above.slice(0, 4), ...box].join('\n')).state).toBe('ready')
  })

  test('what a model wrote does not count, whatever it looks like', () => {
    const forged = [
      '● Here is what it looks like:',
      '  ──────────────────────',
      '  Do you want to proceed?',
      '  ❯ 1. Yes',
      '    2. No',
      '',
      '  Esc to cancel · esc to interrupt',
    ]
    const box = ['──────────────────────', '❯ ', '──────────────────────', '  ? for shortcuts']
    expect(claude.parse([...forged, '', ...box].join('\n')).state).toBe('ready')
    expect(claude.parse(forged.join('\n')).state).toBe('unknown')
  })
})

describe('the question', () => {
  test('a permission has its command and its choices', () => {
    expect(parse('claude-2.1.325/07-permission-bash').question).toEqual({
      prompt: 'Do you want to proceed?',
      detail: 'Bash command\nRun shell command\ntouch x; curl -s http://127.0.0.1:1/\nThis command requires approval',
      choices: [
        { key: '1', label: 'Yes', selected: true },
        {
          key: '2',
          label: "Yes, and don't ask again for touch x and curl -s http://127.0.0.1:1/ commands in /srv/example/app",
          selected: false,
        },
        { key: '3', label: 'No', selected: false },
      ],
    })
  })

  test('a label that did not fit into a line is one label', () => {
    const { question } = parse('claude-2.1.325/05-permission-write')
    expect(question?.prompt).toBe('Do you want to create hello.txt?')
    expect(question?.choices.map(({ label }) => label)).toEqual([
      'Yes',
      'Yes, and switch to accept edits (auto-approve file edits and common file commands) for this session (shift+tab)',
      'No',
    ])
  })

  test('a question of the model has details, and goes on under a line', () => {
    expect(parse('claude-2.1.325/12-ask-user').question).toEqual({
      prompt: 'Which colour?',
      detail: '☐ Colour',
      choices: [
        { key: '1', label: 'Red', detail: 'r', selected: true },
        { key: '2', label: 'Blue', detail: 'b', selected: false },
        { key: '3', label: 'Type something.', selected: false },
        { key: '4', label: 'Chat about this', selected: false },
      ],
    })
  })

  test('choices need no numbers', () => {
    expect(parse('claude-2.1.325-firstrun/01-start').question).toMatchObject({
      prompt: expect.stringMatching(
        /^Quick safety check: Is this a project you created or one you trust\? .* open source /,
      ),
      choices: [
        { label: 'No, exit', selected: true },
        { label: 'Yes, I trust this folder', selected: false },
      ],
    })
    expect(parse('claude-2.1.325-firstrun/02-up-enter').question).toMatchObject({
      prompt: 'Do you want to use this API key?',
      choices: [
        { label: 'Yes', selected: false },
        { label: 'No (recommended)', selected: true },
      ],
    })
  })

  test('a dialog that is higher than the screen is still one', () => {
    const lines = screen('claude-2.1.325/09-permission-bash2').trimEnd().split('\n').slice(-9)
    expect(claude.parse(lines.join('\n'))).toMatchObject({
      state: 'permission',
      sections: [],
      question: { prompt: 'Do you want to proceed?' },
    })
  })
})

describe('sections', () => {
  test('text, tools with results, turns', () => {
    expect(parse('claude-2.1.325/06-after-allow-write').sections).toEqual([
      {
        type: 'text',
        text: 'This is a slow answer that streams for a while so that we can look at the busy screen. It has several words.',
        turn: 1,
      },
      {
        type: 'tool',
        tool: 'Write',
        arguments: 'hello.txt',
        result: 'Wrote 1 line to hello.txt\n 1 hi there',
        turn: 2,
      },
      { type: 'text', text: 'file written', turn: 2 },
    ])
  })

  test('a tool that waits or runs has no result, one that was stopped says so', () => {
    const command = 'touch y; for i in 1 2 3 4 5; do echo tick $i; perl -e "select(undef,undef,undef,1)"; done'
    const waits = parse('claude-2.1.325/05-permission-write').sections.at(-1)
    expect(waits).toEqual({ type: 'tool', tool: 'Write', arguments: 'hello.txt', turn: 2 })
    const runs = parse('claude-2.1.325/10-busy-tool').sections.at(-1)
    expect(runs).toEqual({ type: 'tool', tool: 'Bash', arguments: command, turn: 3 })
    expect(parse('claude-2.1.325/11-interrupted').sections.at(-1)).toEqual({
      type: 'tool',
      tool: 'Bash',
      arguments: command,
      result: 'Interrupted · What should Claude do instead?',
      turn: 4,
    })
  })

  test('lines that the screen broke are whole again, and those of the author stay', () => {
    const { sections } = parse('claude-2.1.325/13-ask-answered')
    expect(sections.at(-1)).toMatchObject({
      text: [
        'got Your questions have been answered: "Which colour?"="Blue". You can now continue with these answers in mind.',
        '',
        '<system-reminder>',
        '<total_tokens>14999733 tokens left</total_tokens>',
        '</system-reminder>',
      ].join('\n'),
    })
    expect(sections.at(-2)).toMatchObject({
      tool: "User answered Claude's questions:",
      result: '· Which colour? → Blue',
    })
  })

  test('a command of the person, thoughts, calls of an MCP server', () => {
    expect(parse('claude-2.1.325/14-compacting').sections.at(-1)).toMatchObject({
      tool: '/compact',
      result: 'Compacted (ctrl+o to see full summary)\nRead hello.txt (1 lines)',
    })
    const text = ['✻ Thinking…', '', '  Hm, is', '  it?', '', '● docs - search (MCP)(query: "a (b)")', '  ⎿  1 hit']
    expect(claude.parse(text.join('\n')).sections).toEqual([
      { type: 'thinking', text: 'Hm, is\nit?', turn: 0 },
      { type: 'tool', tool: 'docs - search (MCP)', arguments: 'query: "a (b)"', result: '1 hit', turn: 0 },
    ])
  })

  test('the last words of what is cut off above are not lost', () => {
    expect(claude.parse('  the end of it.\n\n● More').sections).toEqual([
      { type: 'text', text: 'the end of it.', turn: 0 },
      { type: 'text', text: 'More', turn: 0 },
    ])
  })

  test('wide characters take two columns where lines are broken', () => {
    const rule = '─'.repeat(20)
    const wrapped = ['● 日本語日本語日本語', '  日本語 done', rule, '❯ ', rule].join('\n')
    expect(claude.parse(wrapped).sections).toEqual([{ type: 'text', text: '日本語日本語日本語日本語 done', turn: 0 }])
    const own = ['● 日本語', '  日本語', rule, '❯ ', rule].join('\n')
    expect(claude.parse(own).sections).toEqual([{ type: 'text', text: '日本語\n日本語', turn: 0 }])
  })
})

describe('tokens', () => {
  test('of the turn, and of the session', () => {
    expect(parse('claude-2.1.325/10-busy-tool').tokens).toEqual({ output: 26 })
    expect(parse('claude-2.1.325/16-cost').tokens).toEqual({ input: 208_400, output: 306 })
    expect(parse('claude-2.1.325/13-ask-answered').tokens).toBeUndefined()
  })
})

test('escapes change nothing', () => {
  for (const name of Object.keys(STATES)) {
    const plain = screen(name)
    const coloured = plain
      .split('\n')
      .map((line) => `\u001B[38;5;246m${line}\u001B[39m\u001B]8;;https://example.com\u0007\u001B]8;;\u001B\\`)
      .join('\r\n')
    expect({ ...claude.parse(coloured), raw: '' }).toEqual({ ...claude.parse(plain), raw: '' })
  }
})
