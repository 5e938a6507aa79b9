/** A program on a PTY of this process, by `@lydell/node-pty`. It ends with this process. */
import type { IPty } from '@lydell/node-pty'
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError } from '../../base/nerve-error.ts'
import { guardProcess, releaseTree } from '../process-guard.ts'
import { MARK_NAME } from '../process-table.ts'
import type { Tree } from '../process-tree.ts'
import type { PtyModule } from './load-packages.ts'
import { endTree, killBelow } from './program-tree.ts'
import type { TerminalPlan } from './terminal-options.ts'
import type { Exit, TerminalProcess } from './terminal-process.ts'

interface Spawn {
  readonly id: string
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** What everything that it starts inherits, so that it can be found. */
  readonly mark: string
  readonly plan: Pick<TerminalPlan, 'cwd' | 'cols' | 'rows' | 'handshake'>
}

const EXIT_PATIENCE_MS = 2_000

export class PtyProcess implements TerminalProcess {
  readonly pid: number
  readonly exit: Promise<Exit>
  readonly #pty: IPty
  readonly #tree: Tree
  /** True when the program is a child of the first process. */
  readonly #wrapped: boolean
  #ended = false

  constructor({ spawn }: PtyModule, { id, file, args, env, mark, plan }: Spawn) {
    const above = process.env[MARK_NAME] ?? ''
    const marked = { ...env, [MARK_NAME]: above === '' ? mark : `${above}.${mark}` }
    try {
      // Bytes, not text: what is not UTF-8 must reach the log as it is.
      const { cwd, cols, rows } = plan
      this.#pty = spawn(file, [...args], { name: env['TERM'] ?? 'xterm', cols, rows, cwd, env: marked, encoding: null })
    } catch (cause) {
      throw new NerveError('command-failed', `Terminal '${id}' cannot get a PTY: ${(cause as Error).message}.`, {
        cause,
        retry: 'later',
        data: { reason: 'spawn' },
      })
    }
    this.pid = this.#pty.pid
    this.#wrapped = plan.handshake
    guardProcess(mark, this.pid)
    this.#tree = { mark, root: this.pid, rootEnded: () => this.#ended }
    this.exit = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal = 0 }) => {
        this.#ended = true
        resolve({ code: signal === 0 ? exitCode : 128 + signal })
      })
    })
  }

  onBytes(listener: (bytes: Uint8Array) => void): void {
    // With `encoding: null` it gives bytes, whatever its types say.
    this.#pty.onData((data: unknown) => listener(data as Uint8Array))
  }

  write(data: string): void {
    this.#pty.write(data)
  }

  resize(cols: number, rows: number): void {
    this.#pty.resize(cols, rows)
  }

  pause(): void {
    this.#pty.pause()
  }

  resume(): void {
    this.#pty.resume()
  }

  hangUp(): void {
    if (!this.#ended) this.#pty.kill('SIGHUP')
  }

  killBelow(): Promise<void> {
    return killBelow(this.#tree, this.#wrapped)
  }

  /** A PTY is held by its process: there is nothing that could go on. */
  detach(): Promise<void> {
    return this.stop()
  }

  async stop(): Promise<void> {
    await endTree(this.#tree)
    releaseTree(this.#tree.mark)
    const enough = new AbortController()
    const late = delay(EXIT_PATIENCE_MS, undefined, { signal: enough.signal }).catch(() => undefined)
    await Promise.race([this.exit, late])
    enough.abort()
  }
}
