#!/usr/bin/env node
/**
 * A DOUBLE of `wezterm cli`, not WezTerm: the same arguments, the same JSON, and nothing else is accepted. Behind it is a
 * tmux server of its own. It shows that Nerve says to WezTerm what WezTerm's documentation asks for; what WezTerm makes of
 * it, it does not show.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

type Flags = Readonly<Record<string, 'value' | 'alone'>>

const COMMANDS: Readonly<Record<string, Flags>> = {
  list: { format: 'value' },
  spawn: {
    cwd: 'value',
    'pane-id': 'value',
    'window-id': 'value',
    workspace: 'value',
    'domain-name': 'value',
    'new-window': 'alone',
  },
  'send-text': { 'pane-id': 'value', 'no-paste': 'alone' },
  'get-text': { 'pane-id': 'value', 'start-line': 'value', 'end-line': 'value', escapes: 'alone' },
  'kill-pane': { 'pane-id': 'value' },
  'activate-pane': { 'pane-id': 'value' },
}
const GLOBAL: Flags = { 'no-auto-start': 'alone', 'prefer-mux': 'alone', class: 'value' }
const FIELDS = [
  'window_id',
  'pane_id',
  'pane_height',
  'pane_width',
  'pane_current_path',
  'cursor_x',
  'cursor_y',
  'cursor_flag',
  'window_active',
  'pane_tty',
]

function fail(code: number, message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}

function tmux(...args: readonly string[]): string {
  const socket = process.env['WEZTERM_UNIX_SOCKET'] ?? fail(1, 'ERROR: failed to connect: no running instance')
  const { status, stdout, stderr } = spawnSync('tmux', ['-u', '-L', socket, '-f', '/dev/null', ...args], {
    encoding: 'utf8',
  })
  if (status !== 0) fail(1, `ERROR: ${stderr.trim()}`)
  return stdout
}

/** As strict as a parser of declared flags is: unknown ones, missing values and stray words are refused. */
function parse(words: string[], known: Flags, command?: string): { flags: Map<string, string>; rest: string[] } {
  const flags = new Map<string, string>()
  while (words[0]?.startsWith('--') === true && words[0] !== '--') {
    const name = words.shift()!.slice(2)
    const kind = known[name] ?? fail(2, `error: unexpected argument '--${name}' found`)
    // A negative number is a value too.
    flags.set(name, kind === 'alone' ? '' : (words.shift() ?? fail(2, `error: a value is required for '--${name}'`)))
  }
  const own = words[0] === '--' ? words.slice(1) : command === 'send-text' || command === undefined ? words : []
  if (own.length === 0 && words.length > 0 && words[0] !== '--')
    fail(2, `error: unexpected argument '${words[0]}' found`)
  return { flags, rest: own }
}

const words = process.argv.slice(2)
if (words.shift() !== 'cli') fail(2, 'error: unrecognized subcommand')
const [name = '', ...given] = parse(words, GLOBAL).rest
const known = COMMANDS[name] ?? fail(2, `error: unrecognized subcommand '${name}'`)
const { flags, rest } = parse(given, known, name)

function pane(): string {
  const id = flags.get('pane-id') ?? process.env['WEZTERM_PANE'] ?? fail(1, 'ERROR: --pane-id was not specified')
  if (!/^\d+$/.test(id)) fail(2, `error: invalid value '${id}' for '--pane-id'`)
  const panes = tmux('list-panes', '-a', '-F', '#{pane_id}').split('\n')
  return panes.includes(`%${id}`) ? `%${id}` : fail(1, `ERROR: no such pane ${id}`)
}

function list(): void {
  if (flags.get('format') !== 'json') fail(2, 'this double only lists as json')
  const lines = tmux('list-panes', '-a', '-F', FIELDS.map((field) => `#{${field}}`).join('\t'))
    .split('\n')
    .filter(Boolean)
  const items = lines.map((line) => {
    const [window = '', id = '', rows, cols, cwd = '', x, y, cursor, active, tty] = line.split('\t')
    return {
      window_id: 0,
      tab_id: Number(window.slice(1)),
      pane_id: Number(id.slice(1)),
      workspace: 'default',
      size: { rows: Number(rows), cols: Number(cols), pixel_width: 0, pixel_height: 0, dpi: 0 },
      title: 'sh',
      cwd: `file://localhost${encodeURI(cwd)}`,
      cursor_x: Number(x),
      cursor_y: Number(y),
      cursor_shape: 'Default',
      cursor_visibility: cursor === '1' ? 'Visible' : 'Hidden',
      left_col: 0,
      top_row: 0,
      tab_title: '',
      window_title: 'sh',
      is_active: active === '1',
      is_zoomed: false,
      tty_name: tty,
    }
  })
  process.stdout.write(`${JSON.stringify(items, null, 2)}\n`)
}

function spawnPane(): void {
  const cwd = flags.has('cwd') ? ['-c', flags.get('cwd')!] : []
  process.stdout.write(
    `${tmux('new-window', '-d', '-P', '-F', '#{pane_id}', ...cwd, ...rest)
      .trim()
      .slice(1)}\n`,
  )
}

/** What is pasted has its line breaks taken for text by the program; only `--no-paste` types. */
function sendText(): void {
  const bytes = Buffer.from(rest[0] ?? readFileSync(0, 'utf8'))
  const typed = flags.has('no-paste') ? bytes : Buffer.from(`\u001b[200~${bytes.toString()}\u001b[201~`)
  const target = pane()
  for (let at = 0; at < typed.length; at += 4_000)
    tmux('send-keys', '-t', target, '-H', ...Array.from(typed.subarray(at, at + 4_000), (byte) => byte.toString(16)))
}

function getText(): void {
  const range = (flag: string, tmuxFlag: string) => (flags.has(flag) ? [tmuxFlag, flags.get(flag)!] : [])
  process.stdout.write(
    tmux('capture-pane', '-p', '-t', pane(), ...range('start-line', '-S'), ...range('end-line', '-E')),
  )
}

if (name === 'list') list()
else if (name === 'spawn') spawnPane()
else if (name === 'send-text') sendText()
else if (name === 'get-text') getText()
else if (name === 'kill-pane') tmux('kill-pane', '-t', pane())
else tmux('select-window', '-t', pane())
