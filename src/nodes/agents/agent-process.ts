/** The process of an agent: it is told of when it has started, watched, and ended with all that is in its group. */
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { NerveError } from '../../base/nerve-error.ts'
import type { AgentOpen } from './adapter.ts'

const PATIENCE_MS = 2_000
const STDERR_CHARACTERS = 2_000

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
    { cwd, env, started }: Pick<AgentOpen, 'cwd' | 'env' | 'started'>,
    ended: (error: NerveError) => void,
  ) {
    // A group of its own: some programs start themselves again, and all of it has to end.
    const child = spawn(command, [...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    this.#child = announced(child, started)
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

/** A process that has started: one that could not be started has no id. */
export function announced<Child extends ChildProcess>(child: Child, started: AgentOpen['started']): Child {
  if (child.pid !== undefined) started(child.pid)
  return child
}

export function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
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
