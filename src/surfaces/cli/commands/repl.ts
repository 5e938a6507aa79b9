/**
 * `nerve repl`: lines as commands. Each is a process of its own, as it is without the prompt: none can disturb another, and
 * Ctrl-C is for the one that runs.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { projectValues } from '../completion-values.ts'
import { suggestions } from '../completion-words.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { splitWords } from '../split-words.ts'

const MOST_HISTORY = 500
const LEAVE: readonly string[] = ['exit', 'quit']

export async function run(invocation: Invocation): Promise<number> {
  return invocation.out.interactive ? atTerminal(invocation) : fromPipe(invocation)
}

async function fromPipe(invocation: Invocation): Promise<number> {
  let gravest: number = EXIT.done
  for await (const line of createInterface({ input: process.stdin })) {
    const code = await perform(line, invocation)
    if (code === undefined) break
    gravest = Math.max(gravest, code)
  }
  return gravest
}

async function atTerminal(invocation: Invocation): Promise<number> {
  const { out } = invocation
  const history = new History(invocation.dir)
  const before: Before = { history, ahead: [], begun: '' }
  out.line(out.tone('Commands without the word nerve. help tells more, exit leaves.', 'dim'))
  for (;;) {
    const line = await ask(invocation, before)
    if (line === undefined) return EXIT.done
    history.add(line)
    if ((await perform(line, invocation)) === undefined) return EXIT.done
  }
}

interface Before {
  readonly history: History
  /** What came in one piece with a line: the lines after it, as they are pasted. */
  readonly ahead: string[]
  /** And the beginning of one that has no end yet. */
  begun: string
}

/** One line; undefined at the end of the input. The terminal is free again when it is read. */
async function ask(invocation: Invocation, before: Before): Promise<string | undefined> {
  const { out } = invocation
  const prompt = out.tone('nerve> ', 'ask')
  const next = before.ahead.shift()
  if (next !== undefined) {
    out.line(`${prompt}${next}`)
    return next
  }
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  let read: string | undefined
  let over = false
  const lines: Interface = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    history: before.history.lines(),
    historySize: MOST_HISTORY,
    completer: (line: string, done: (error: Error | null, found: [string[], string]) => void) => {
      // Tab and Enter in one piece, as they are pasted or typed ahead: the line is gone when its completion is found.
      const unlessOver = (found: [string[], string]): void => {
        if (!over) done(null, found)
      }
      // What cannot be looked up is not completed; the command itself will say why.
      complete(line, invocation).then(unlessOver, () => unlessOver([[], line]))
    },
  })
  lines.on('close', () => {
    over = true
    before.begun = read === undefined ? '' : lines.line
    if (read === undefined || before.begun !== '') out.line()
    resolve(read)
  })
  lines.on('SIGINT', () => {
    // As in a shell: the line is given up, the prompt stays.
    out.write('^C\n')
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' })
    lines.prompt()
  })
  lines.on('line', (line) => {
    if (over) return void before.ahead.push(line)
    over = true
    read = line
    setImmediate(() => lines.close())
  })
  lines.setPrompt(prompt)
  lines.prompt()
  if (before.begun !== '') lines.write(before.begun)
  return promise
}

async function complete(line: string, { cwd, table }: Invocation): Promise<[string[], string]> {
  const words = expand(splitWords(line), line)
  const current = /\s$/.test(line) || line === '' ? '' : (words.at(-1) ?? '')
  const all = await suggestions(current === '' ? [...words, ''] : words, { table, values: projectValues(cwd) })
  return [all.map(({ value }) => (value.endsWith('/') ? value : `${value} `)), current]
}

/** The exit code of a line; undefined when it says to leave. */
async function perform(line: string, { out, dir }: Invocation): Promise<number | undefined> {
  let words: readonly string[]
  try {
    words = splitWords(line)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    out.error(error)
    return EXIT.usage
  }
  const [first] = words
  if (first === undefined) return EXIT.done
  if (LEAVE.includes(first) && words.length === 1) return undefined
  if (first === 'repl') {
    out.error(new UsageError('nerve repl: this is it already.'))
    return EXIT.usage
  }
  const asked = first === 'nerve' ? words.slice(1) : expand(words, line)
  const project = asked.some((word) => word === '--dir' || word.startsWith('--dir=')) ? [] : ['--dir', dir]
  const plain = asked[0] === 'help' || asked[0]?.startsWith('-') === true
  return call([...(plain ? [] : project), ...(out.json && !plain ? ['--json'] : []), ...asked], out.interactive)
}

/** The short forms. What follows the name of a node is one input, as it was typed. */
function expand(words: readonly string[], line: string): readonly string[] {
  const [first, node = ''] = words
  if (first === 'list') return ['node', 'list', ...words.slice(1)]
  if (first !== 'exec') return words
  const input = /^\s*exec\s+\S+\s+(.*)$/s.exec(line)?.[1]
  return ['node', 'execute', node, ...(input === undefined ? [] : ['--', input])]
}

function call(words: readonly string[], interactive: boolean): Promise<number> {
  // The terminal tells everybody at it of Ctrl-C: it is for the command.
  const ignore = (): void => undefined
  process.on('SIGINT', ignore)
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...words], {
    // The lines that follow are not its input.
    stdio: [interactive ? 'inherit' : 'ignore', 1, 2],
  })
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? EXIT.failed))
  }).finally(() => process.off('SIGINT', ignore))
}

/** What was typed, newest first, kept with the project when it has a folder for it. */
class History {
  readonly #file: string | undefined
  #lines: string[]

  constructor(dir: string) {
    const folder = join(dir, '.nerve')
    this.#file = existsSync(folder) ? join(folder, 'repl-history') : undefined
    this.#lines = this.#file === undefined ? [] : linesIn(this.#file)
  }

  /** The interface changes what it is given. */
  lines(): string[] {
    return [...this.#lines]
  }

  add(line: string): void {
    if (line.trim() === '' || line === this.#lines[0]) return
    this.#lines = [line, ...this.#lines].slice(0, MOST_HISTORY)
    if (this.#file === undefined) return
    try {
      writeFileSync(this.#file, `${this.#lines.join('\n')}\n`, { mode: 0o600 })
    } catch {
      // A prompt works without it: the folder is read-only, or gone.
    }
  }
}

function linesIn(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch {
    // There is none yet, or it cannot be read.
    return []
  }
}
