/**
 * One command, from start to end: its pipes, its output, its limits in time, and the end of everything it started.
 *
 * Invariants: when the promise settles, nothing of the tree runs any more (unless the background may stay), no descriptor
 * is open, and no file is left but spilled output.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError, type RetryHint } from '../base/nerve-error.ts'
import { guardProcess, guardTree, releaseTree } from './process-guard.ts'
import { Output, type Kept } from './process-output.ts'
import { STREAMS, openPipes, type Pipes, type StreamName } from './process-pipes.ts'
import { MARK_NAME } from './process-table.ts'
import { killTree, type Tree } from './process-tree.ts'
import { makeSpillFolder } from './spill-folder.ts'

export interface ProcessPlan {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin?: string | Uint8Array | undefined
  readonly maxOutput: number
  readonly maxSpill: number
  /** Where the folder for spilled output is made (default: the one for temporary files). */
  readonly spillDir?: string | undefined
  /** The key of the step that it is for. */
  readonly key: string
  /** How long what is asked to end may take before it is killed. */
  readonly graceMs: number
  /** What becomes of processes that the command leaves running. */
  readonly background: 'kill' | 'keep'
  /** Ends the command; its reason is thrown. */
  readonly signal: AbortSignal
  readonly onText: (stream: StreamName, text: string) => void
}

export interface Ended {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly durationMs: number
  readonly stdout: Kept
  readonly stderr: Kept
}

/** What a command that has ended may take to hand over its last output: the end of a `>(tee log)`, for example. */
const SETTLE_MS = 500

/** Thrown reasons are kept with what the command had said until then. */
export interface Stopped {
  readonly reason: unknown
  readonly ended: Ended
}

export function runProcess(plan: ProcessPlan): Promise<Ended | Stopped> {
  return new Command(plan).run()
}

interface Started {
  readonly child: ChildProcess
  readonly pipes: Pipes
  /** Settles when both streams have ended. */
  readonly drained: Promise<unknown>
  readonly startedAt: number
}

class Command {
  readonly #plan: ProcessPlan
  readonly #mark = randomBytes(16).toString('hex')
  readonly #outputs: Readonly<Record<StreamName, Output>>
  readonly #stop = new AbortController()
  readonly #parent: string
  #folder: string | undefined

  constructor(plan: ProcessPlan) {
    this.#plan = plan
    this.#parent = plan.spillDir ?? tmpdir()
    const { maxOutput, maxSpill } = plan
    const output = (name: StreamName): Output =>
      new Output({ maxOutput, maxSpill, file: () => join(this.#spillFolder(), name) })
    this.#outputs = { stdout: output('stdout'), stderr: output('stderr') }
  }

  async run(): Promise<Ended | Stopped> {
    const { signal, stdin } = this.#plan
    signal.throwIfAborted()
    const pipes = await openPipes(this.#parent, stdin)
    const abort = (): void => this.#stop.abort(signal.reason)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    try {
      await guardTree(this.#mark)
      this.#stop.signal.throwIfAborted()
      const began = performance.now()
      const child = await this.#start(pipes)
      let over = began
      child.once('exit', () => (over = performance.now()))
      const drained = this.#read(pipes)
      const [exitCode, ended] = await this.#wait({ child, pipes, drained, startedAt: began })
      const durationMs = Math.round(over - began)
      const kept = { stdout: this.#outputs.stdout.end(), stderr: this.#outputs.stderr.end() }
      const done: Ended = { exitCode, signal: ended, durationMs, ...kept }
      return this.#stop.signal.aborted ? { reason: this.#stop.signal.reason as unknown, ended: done } : done
    } finally {
      signal.removeEventListener('abort', abort)
      releaseTree(this.#mark)
      pipes.closeChildEnds()
      for (const name of STREAMS) {
        pipes[name].destroy()
        this.#outputs[name].close()
      }
    }
  }

  #spillFolder(): string {
    this.#folder ??= makeSpillFolder(this.#parent, this.#plan.key)
    return this.#folder
  }

  async #start(pipes: Pipes): Promise<ChildProcess> {
    const { file, args, cwd, env } = this.#plan
    try {
      // In a session of its own, whose leader it is: a signal to this process's group is not meant for it.
      const child = spawn(file, args, {
        cwd,
        detached: true,
        env: { ...env, [MARK_NAME]: marks(this.#mark) },
        stdio: [...pipes.stdio],
      })
      if (child.pid === undefined) throw await once(child, 'error').then(([error]) => error as unknown)
      guardProcess(this.#mark, child.pid)
      return child
    } catch (cause) {
      throw await notStarted(this.#plan, cause)
    } finally {
      pipes.closeChildEnds()
    }
  }

  /** Takes the output as it comes. A file that cannot be written ends the command: its output would be lost. */
  #read(pipes: Pipes): Promise<unknown> {
    const { onText } = this.#plan
    return Promise.all(
      STREAMS.map((name) => {
        const output = this.#outputs[name]
        const tell = (text: string): void => {
          if (text !== '') onText(name, text)
        }
        pipes[name].on('data', (chunk: Buffer) => {
          try {
            tell(output.take(chunk))
          } catch (cause) {
            this.#stop.abort(notKept(name, cause))
            pipes[name].destroy()
          }
        })
        pipes[name].on('error', (cause) => this.#stop.abort(notKept(name, cause)))
        return new Promise<void>((resolve) => {
          pipes[name].on('close', () => {
            tell(output.rest())
            resolve()
          })
        })
      }),
    )
  }

  /** Until the command has ended and what it left is dealt with. */
  async #wait({ child, pipes, drained, startedAt }: Started): Promise<readonly [number | null, NodeJS.Signals | null]> {
    const { graceMs, background } = this.#plan
    const ended = (): boolean => child.exitCode !== null || child.signalCode !== null
    const tree: Tree = { mark: this.#mark, root: child.pid ?? -1, rootEnded: ended, startedAt }
    const exit = ended() ? Promise.resolve() : once(child, 'exit')
    const stopped = this.#stop.signal
    await orAbort(exit, stopped)
    if (!stopped.aborted) await orAbort(soon(drained), stopped)
    if (stopped.aborted || background === 'kill') {
      await killTree(tree, graceMs)
      await exit
      await soon(drained)
    }
    // Somebody else holds them open: what it writes from here on is not the command's.
    for (const name of STREAMS) pipes[name].destroy()
    await drained
    return [child.exitCode, child.signalCode]
  }
}

/** Waits for the promise, or until the signal aborts. */
async function orAbort(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const over = Promise.withResolvers<void>()
  const resolve = (): void => over.resolve()
  signal.addEventListener('abort', resolve)
  try {
    await Promise.race([promise, over.promise])
  } finally {
    signal.removeEventListener('abort', resolve)
  }
}

async function soon(promise: Promise<unknown>): Promise<void> {
  const enough = new AbortController()
  const late = delay(SETTLE_MS, undefined, { signal: enough.signal }).catch(() => undefined)
  await Promise.race([promise, late])
  enough.abort()
}

/** A host that is itself a command of another one keeps its mark: that one must find everything below, too. */
function marks(mark: string): string {
  const above = process.env[MARK_NAME]
  return above === undefined || above === '' ? mark : `${above}.${mark}`
}

function notKept(name: StreamName, cause: unknown): NerveError {
  return new NerveError(
    'command-failed',
    `The ${name} of the command could not be kept: ${(cause as Error).message}.`,
    {
      cause,
      retry: 'later',
      data: { reason: 'output' },
    },
  )
}

async function notStarted({ file, cwd, args, env }: ProcessPlan, cause: unknown): Promise<NerveError> {
  const { code, message } = cause as NodeJS.ErrnoException
  const failed = (text: string, reason: string, retry: RetryHint = 'never'): NerveError =>
    new NerveError('command-failed', text, { cause, retry, data: { reason } })
  const folder = await stat(cwd).catch(() => undefined)
  if (folder?.isDirectory() !== true) return noFolder(cwd, cause)
  if (code === 'ENOENT' || code === 'EACCES')
    return failed(
      `'${file}' cannot be executed (${code}): it is not in the PATH of the command, or is no program. Install it, or give another shell.`,
      'shell',
    )
  if (code !== 'E2BIG') return failed(`The command could not be started: ${message}.`, 'spawn', 'later')
  const size = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return failed(
    `The command (${size(args)} bytes) and its environment (${size(Object.values(env))} bytes) are more than the system can start. Put what is long into a file, or give it as stdin.`,
    'too-long',
  )
}

export function noFolder(cwd: string, cause: unknown): NerveError {
  return new NerveError(
    'command-failed',
    `${cwd}, in which the command was to run, is not a folder. Make it, or give another cwd.`,
    { cause, data: { reason: 'cwd' } },
  )
}
