/** The process of an agent: it is told of when it has started, watched, and ended with all that is in its group. */
import {
  spawn,
  type ChildProcess,
  type ChildProcessByStdio,
  type SpawnOptions,
  type StdioOptions,
} from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { NerveError } from '../../base/nerve-error.ts'
import type { Wrapped } from '../sandbox.ts'
import type { AgentOpen } from './adapter.ts'
import { unseenValue } from './unseen-argument.ts'

const PATIENCE_MS = 2_000
const STDERR_CHARACTERS = 2_000

/** What a program may say in one go: a longer line is no message, and would be held in memory. */
export const MOST_BYTES = 64 * 1024 * 1024

/** What is no message is something that the program prints on its own. */
export function messageIn(line: string): object | undefined {
  try {
    const message = JSON.parse(line) as unknown
    return typeof message === 'object' && message !== null ? message : undefined
  } catch {
    return undefined
  }
}

export function tooMuch(name: string): NerveError {
  return new NerveError('agent-failed', `${name} said more than ${MOST_BYTES} bytes in one line, and was ended.`, {
    retry: 'later',
    data: { reason: 'process' },
  })
}

/** What a program of an agent is started with. */
export type Surroundings = Pick<AgentOpen, 'cwd' | 'env' | 'started' | 'wrap'>

export interface Program {
  /** Whose program it is, for messages. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

export class AgentProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  #said = ''

  /** `ended` is called once, with the last that the program said on stderr. */
  constructor(
    { name, command, args }: Program,
    { cwd, env, ...more }: Surroundings,
    ended: (error: NerveError) => void,
  ) {
    // A group of its own: some programs start themselves again, and all of it has to end.
    const own = { cwd, env, stdio: 'pipe', detached: true } as const
    const child = spawnWrapped({ file: command, args }, own, more) as ChildProcessByStdio<Writable, Readable, Readable>
    this.#child = child
    child.stderr.on('data', (piece: Buffer) => {
      this.#said = `${this.#said}${piece.toString()}`.slice(-STDERR_CHARACTERS)
    })
    // What breaks the pipe is the end of the program, which is heard of here.
    child.stdin.on('error', () => undefined)
    let isOver = false
    const end = (how: string): void => {
      if (isOver) return
      isOver = true
      const said = this.#said.trim()
      const data = { reason: 'process' }
      ended(new NerveError('agent-failed', `${name} ${how}${said === '' ? '' : `: ${said}`}`, { retry: 'later', data }))
    }
    child.on('error', (cause) => end(`could not be started: ${cause.message}`))
    child.on('exit', (code, signal) => end(`ended (${signal ?? code ?? '?'})`))
  }

  get stdin(): Writable {
    return this.#child.stdin
  }

  get stdout(): Readable {
    return this.#child.stdout
  }

  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    signalGroup(this.#child, signal)
  }

  /** After it was told to end, in whatever way it understands: what is left after a moment is killed. */
  async close(): Promise<void> {
    const child = this.#child
    if (child.pid === undefined) return
    const gone = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'exit')
    const late = setTimeout(() => signalGroup(child, 'SIGKILL'), PATIENCE_MS)
    await gone
    clearTimeout(late)
    signalGroup(child, 'SIGKILL')
  }
}

/** How an SDK wants a program to be started. */
export type Spawning = { readonly command: string; readonly args: readonly string[] } & SpawnOptions

/** For an SDK that is handed the process. The value of the option is for nobody else to see. */
export function spawnFor({ command: file, args, ...how }: Spawning, option: string, options: Starting): ChildProcess {
  const unseen = unseenValue(args, option)
  try {
    const stdio: StdioOptions = ['pipe', 'pipe', 'ignore', ...unseen.descriptors]
    return spawnWrapped({ file, args: unseen.args }, { ...how, stdio }, options)
  } finally {
    unseen.close()
  }
}

type Starting = Pick<AgentOpen, 'wrap' | 'started'>

/** Starts a command, in its sandbox where there is one, and tells of it. One that could not be started has no id. */
export function spawnWrapped(command: Wrapped, how: SpawnOptions, { wrap, started }: Starting): ChildProcess {
  const { file, args } = wrap === undefined ? command : wrap(command)
  const child = spawn(file, args, how)
  if (child.pid !== undefined) started(child.pid)
  return child
}

export function signalGroup({ pid }: Pick<ChildProcess, 'pid'>, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    // The group of 1 would be everybody.
    if (pid !== undefined && pid > 1) process.kill(-pid, signal)
  } catch (error) {
    // Nothing of it is left.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** What could not be opened leaves nothing behind. */
export async function openOrClose<Opened>(
  started: { close(): Promise<unknown> },
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open()
  } catch (error) {
    await started.close()
    throw error
  }
}
