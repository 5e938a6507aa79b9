/** The command as people call it: real processes in a temporary project. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { built, compileCache } from '../built.ts'

/** As it is installed. From its sources it is called by the tests of the examples, and by those of the tour. */
const MAIN = built('dist', 'surfaces', 'cli', 'main.js')
const TERMINAL = fileURLToPath(new URL('terminal.py', import.meta.url))
export const COMMAND: readonly string[] = [process.execPath, MAIN]
const PATIENCE_MS = 20_000

export const HAS_TERMINAL = spawnSync('python3', ['-c', 'import pty']).status === 0

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly child: ChildProcess
  /** Resolves when stdout has shown this text. */
  readonly shown: (text: string) => Promise<string>
  readonly ended: Promise<Ended>
}

interface TerminalOptions {
  readonly size?: readonly [columns: number, rows: number]
  readonly env?: NodeJS.ProcessEnv
}

export interface Project {
  readonly dir: string
  readonly nerve: (
    args: readonly string[],
    options?: { readonly input?: string; readonly env?: NodeJS.ProcessEnv },
  ) => Promise<Ended>
  readonly start: (args: readonly string[], env?: NodeJS.ProcessEnv) => Running
  readonly terminal: (
    args: readonly string[],
    script: readonly (readonly [string, string])[],
    options?: TerminalOptions,
  ) => Running
  readonly write: (file: string, text: string) => void
  readonly read: (file: string) => string
  readonly has: (file: string) => boolean
  /** Lines that steps wrote to effects.txt, sorted. */
  readonly effects: () => string[]
  /** Polls until it holds. */
  readonly until: (holds: () => boolean | Promise<boolean>, what: string) => Promise<void>
  readonly remove: () => void
}

export function project(files: Readonly<Record<string, string>> = {}): Project {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-cli-'))
  const children = new Set<ChildProcess>()
  const write = (file: string, text: string): void => writeFileSync(join(dir, file), text)
  write('package.json', '{"type":"module"}')
  for (const [file, text] of Object.entries(files)) write(file, text)
  const launch = (command: readonly string[], env: NodeJS.ProcessEnv = {}): Running => {
    const running = run(command, dir, env)
    children.add(running.child)
    void running.ended.then(() => children.delete(running.child))
    return running
  }
  return {
    dir,
    write,
    read: (file) => readFileSync(join(dir, file), 'utf8'),
    has: (file) => existsSync(join(dir, file)),
    effects: () =>
      existsSync(join(dir, 'effects.txt'))
        ? readFileSync(join(dir, 'effects.txt'), 'utf8').trim().split('\n').sort()
        : [],
    start: (args, env) => launch([...COMMAND, ...args], env),
    nerve(args, { input, env } = {}) {
      const running = launch([...COMMAND, ...args], env)
      // A command that needs no input may have ended before it is given any.
      running.child.stdin?.on('error', () => undefined).end(input ?? '')
      return running.ended
    },
    terminal: (args, script, { size: [columns, rows] = [80, 24], env } = {}) =>
      launch(['python3', TERMINAL, String(columns), String(rows), JSON.stringify(script), ...COMMAND, ...args], env),
    until,
    remove() {
      for (const child of children) child.kill('SIGKILL')
      endDaemon(dir)
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** A daemon that a test has started, and not stopped. A test may have put anything into the record. */
function endDaemon(dir: string): void {
  const file = join(dir, '.nerve', 'server.json')
  if (!existsSync(file)) return
  try {
    const pid = Number((JSON.parse(readFileSync(file, 'utf8')) as { pid?: unknown } | null)?.pid)
    if (Number.isSafeInteger(pid) && pid > 1) process.kill(pid, 'SIGKILL')
  } catch {
    // It has died already.
  }
}

export function run(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Running {
  const {
    CI: _ci,
    NO_COLOR: _color,
    FORCE_COLOR: _force,
    NODE_OPTIONS: _options,
    COLUMNS: _columns,
    npm_command: _npm,
    ...rest
  } = process.env
  const [file = '', ...args] = command
  const child = spawn(file, args, {
    cwd,
    env: { ...rest, ...compileCache(), TERM: 'xterm', NERVE_LOCAL: '1', XDG_STATE_HOME: join(cwd, '.state'), ...env },
  })
  let out = ''
  let err = ''
  let looks: (() => void)[] = []
  const look = (): void => {
    for (const one of looks) one()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    look()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code) => {
      resolve({ code, out, err })
      look()
    }),
  )
  const shown = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const give = (settle: () => void): void => {
        clearTimeout(timer)
        looks = looks.filter((one) => one !== check)
        settle()
      }
      const check = (): void => {
        if (out.includes(text)) give(() => resolve(out))
        else if (child.exitCode !== null) give(() => reject(new Error(`ended without '${text}':\n${out}\n${err}`)))
      }
      const timer = setTimeout(() => give(() => reject(new Error(`no '${text}' in:\n${out}\n${err}`))), PATIENCE_MS)
      looks.push(check)
      check()
    })
  return { child, shown, ended }
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`it never came to: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The JSON lines of an output. */
// oxlint-disable-next-line no-explicit-any -- tests look into what a command printed
export function jsonLines(text: string): any[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
