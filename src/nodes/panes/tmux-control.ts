/**
 * A client of tmux in control mode: commands go in as lines, answers and what panes print come out as lines. One process,
 * one connection; when it ends, the panes go on.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { NerveError } from '../../base/nerve-error.ts'

export interface TmuxWish {
  readonly program: string
  /** The name of the server's socket. */
  readonly socket: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

interface Answer {
  readonly resolve: (lines: readonly string[]) => void
  readonly reject: (error: NerveError) => void
  readonly what: string
}

/** A server that does not answer for so long hangs. */
const PATIENCE_MS = 20_000

export class TmuxControl {
  /** Resolves when the connection is over; with what tmux said, if it said something. */
  readonly closed: Promise<string>
  readonly #child: ChildProcessWithoutNullStreams
  readonly #answers: Answer[] = []
  readonly #opened = Promise.withResolvers<void>()
  #rest = ''
  #block: { readonly ours: boolean; readonly lines: string[] } | undefined
  #said = ''
  #over = false
  onOutput: (pane: string, bytes: Buffer) => void = () => undefined

  constructor({ program, socket, args, env }: TmuxWish) {
    this.#child = spawn(program, ['-u', '-L', socket, '-f', '/dev/null', '-C', ...args], { env })
    const { stdout, stderr, stdin } = this.#child
    // Bytes as characters, one for one: what panes print may be no UTF-8.
    stdout.setEncoding('latin1').on('data', (text: string) => this.#read(text))
    stderr.setEncoding('utf8').on('data', (text: string) => (this.#said += text))
    // A broken pipe is the end of the connection, which is heard of below.
    stdin.on('error', () => undefined)
    this.closed = new Promise((resolve) => {
      this.#child.on('error', (error) => this.#end(error.message, resolve))
      this.#child.on('close', () => this.#end(this.#said.trim(), resolve))
    })
    this.#opened.promise.catch(() => undefined)
  }

  /** Waits until the first command, that of the arguments, was done. */
  opened(): Promise<void> {
    return inTime(this.#opened.promise)
  }

  /** One command, in the language of tmux; see `word`. Gives the lines that it printed. */
  ask(...words: readonly string[]): Promise<readonly string[]> {
    const what = words.slice(0, 2).join(' ')
    if (this.#over) return Promise.reject(gone(what, this.#said))
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>()
    this.#answers.push({ resolve, reject, what })
    // What is asked in one go is written in one go: if this process is killed, all of it was said, or nothing.
    const { stdin } = this.#child
    stdin.cork()
    stdin.write(`${words.join(' ')}\n`)
    process.nextTick(() => stdin.uncork())
    return inTime(promise)
  }

  pause(): void {
    this.#child.stdout.pause()
  }

  resume(): void {
    this.#child.stdout.resume()
  }

  /** Ends the connection and nothing else. */
  async close(): Promise<void> {
    this.resume()
    this.#child.stdin.end()
    const late = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS / 10)
    await this.closed
    clearTimeout(late)
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#line(line)
  }

  #line(line: string): void {
    const block = this.#block
    if (block !== undefined) {
      if (!/^%(?:end|error) \d+ \d+ \d+$/.test(line)) block.lines.push(line)
      else this.#answered(block, line.startsWith('%end'))
      return
    }
    const begin = /^%begin \d+ \d+ (\d+)$/.exec(line)
    if (begin !== null) this.#block = { ours: begin[1] === '1', lines: [] }
    else if (line.startsWith('%output ')) this.#output(line)
  }

  #answered({ ours, lines }: { readonly ours: boolean; readonly lines: string[] }, well: boolean): void {
    this.#block = undefined
    const text = lines.map((line) => Buffer.from(line, 'latin1').toString())
    if (!ours) {
      if (well) this.#opened.resolve()
      else this.#said += text.join('\n')
      return
    }
    const answer = this.#answers.shift()
    if (well) answer?.resolve(text)
    else answer?.reject(new NerveError('pane-failed', `tmux refused ${answer.what}: ${text.join(' ')}`, refusal))
  }

  #output(line: string): void {
    const end = line.indexOf(' ', 8)
    const text = line
      .slice(end + 1)
      .replaceAll(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8)))
    this.onOutput(line.slice(8, end), Buffer.from(text, 'latin1'))
  }

  #end(said: string, resolve: (said: string) => void): void {
    this.#over = true
    this.#said = said
    this.#opened.reject(gone('the connection', said))
    for (const { reject, what } of this.#answers.splice(0)) reject(gone(what, said))
    resolve(said)
  }
}

const refusal = { data: { reason: 'refused', program: 'tmux' } } as const

function gone(what: string, said: string): NerveError {
  const more = said === '' ? '' : ` It said: ${said}`
  return new NerveError('pane-failed', `tmux is gone, or cannot be reached (${what}).${more}`, {
    retry: 'later',
    data: { reason: 'gone', program: 'tmux' },
  })
}

async function inTime<Value>(promise: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(
      new NerveError('pane-failed', `tmux did not answer within ${PATIENCE_MS / 1_000} s: its server hangs. End it.`, {
        data: { reason: 'silent', program: 'tmux' },
      }),
    )
  }, PATIENCE_MS)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** A text as one word of a tmux command. */
export function word(text: string): string {
  if (/[\n\r\0]/.test(text))
    throw new NerveError('bad-option', `${JSON.stringify(text)} has a line break; tmux cannot be told of it.`)
  return /^[\w%=.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** A text that tmux would look into for formats and times, so that it finds none. */
export function plain(text: string): string {
  return text.replaceAll('#', '##').replaceAll('%', '%%')
}

/** Keys for `send-keys -H`: bytes, so that nothing of them means anything to tmux. */
export function keys(bytes: Uint8Array): string[] {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
}
