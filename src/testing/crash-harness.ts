/**
 * Kills a process that drives a run, at a named failpoint or at a time, starts new processes until one ends by itself,
 * and checks what must hold whatever happened: nothing that the journal calls completed runs again, nothing that was
 * acknowledged is missing, the status is honest, no sequence number is left out.
 *
 * A worker is a script of yours. It opens a host in `crashFolder()`, takes up or starts its run, says what it does with
 * `witnessEffect` (first thing in a step) and `witnessAck` (first thing after an awaited call has returned), and exits
 * with 0 when the run has ended. What it prints last on standard output is kept as its result.
 *
 * ```ts
 * // worker.ts
 * import { createHost, workflow } from 'nerve'
 * import { crashFolder, witnessEffect } from 'nerve/testing'
 *
 * const pay = workflow('pay', (ctx) => ctx.step('post', (call) => witnessEffect(call)))
 * const host = await createHost({ dir: crashFolder(), definitions: [pay] })
 * const [known] = await host.runs({ definition: 'pay' })
 * const run = known === undefined ? await host.start(pay) : await host.handle(known.run)
 * await run.result()
 * await host.close()
 *
 * // worker.test.ts
 * const report = await crash({ worker: 'worker.ts', dir, kills: [{ at: 'commit-after' }] })
 * expect(crashProblems(report)).toEqual([])
 * ```
 */
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FAILPOINTS } from '../base/failpoint.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { Entry, JournalEvent } from '../journal/events.ts'
import type { OwnedHead } from '../journal/port.ts'
import { readEntries } from '../engine/reader.ts'
import { databaseFile } from '../host/open-store.ts'
import { openSqliteStore } from '../stores/sqlite-store.ts'

const FOLDER = 'NERVE_CRASH_FOLDER'

/** One way to die: at a failpoint (`name` or `name:3` for its third passing), or so many ms after the first output. */
export type Kill = { readonly at: string } | { readonly after: number }

export interface CrashOptions {
  readonly worker: string
  readonly args?: readonly string[]
  /** The project folder; empty at the start. */
  readonly dir: string
  /** One for each process, in order. The processes after them are left alone. */
  readonly kills: readonly Kill[]
  readonly env?: Readonly<Record<string, string>>
  /** How long one process may take (default 20 s). */
  readonly patience?: number
  /** Does the work of the one that is left alone, for instance in a process that is there already (default: it is started as the others are). */
  readonly survivor?: (env: WorkerEnvironment) => Promise<WorkerEnd>
  /** Runs beside the processes until the last one has ended: somebody who answers, or sends signals. */
  readonly beside?: (dir: string, signal: AbortSignal) => Promise<void>
}

/** What tells a worker where and as what it works, as variables of its environment. */
export type WorkerEnvironment = Readonly<Record<string, string>>

/** How a worker that nobody killed has ended, and everything that it printed. */
export interface WorkerEnd {
  readonly code: number | null
  readonly errors: string
  readonly output: string
}

/** A step that was executed: `by` counts the processes. */
export interface SeenEffect {
  readonly by: number
  readonly run: string
  readonly path: string
  readonly attempt: number
}

/** An event that somebody was told of: the fields of it that they know. */
export type SeenAck = { readonly run: string; readonly type: JournalEvent['type'] } & Readonly<Record<string, unknown>>

export interface SeenRun extends OwnedHead {
  readonly entries: readonly Entry[]
}

export interface CrashReport {
  /** How each process ended. */
  readonly processes: readonly { readonly killed: boolean; readonly code: number | null; readonly errors: string }[]
  /** The journals as each process left them; the last one is the end. */
  readonly journals: readonly (readonly SeenRun[])[]
  readonly effects: readonly SeenEffect[]
  readonly acks: readonly SeenAck[]
  /** What the last process printed last, parsed as JSON when it is. */
  readonly result: unknown
}

/** The folder that a worker works in. */
export function crashFolder(): string {
  const folder = process.env[FOLDER]
  if (folder === undefined) throw new Error('This process was not started by crash().')
  return folder
}

/** Writes down that a step's function is being executed. Call it first thing in the function. */
export function witnessEffect(call: { readonly key: string; readonly path: string; readonly attempt: number }): void {
  const run = call.key.slice(0, call.key.length - call.path.length - 1)
  const by = Number(process.env['NERVE_CRASH_PROCESS'])
  write(crashFolder(), 'effects', { by, run, path: call.path, attempt: call.attempt })
}

/** Writes down that somebody was told of an event. `folder` is for those who run beside the workers. */
export function witnessAck(ack: SeenAck, folder = crashFolder()): void {
  write(folder, 'acks', ack)
}

/** Runs the worker, kills it as told, and runs it again until a process ends by itself. */
export async function crash(options: CrashOptions): Promise<CrashReport> {
  const { dir, kills } = options
  check(options)
  mkdirSync(dir, { recursive: true })
  const stop = new AbortController()
  const beside = options.beside?.(dir, stop.signal)
  const processes: Died[] = []
  const journals: (readonly SeenRun[])[] = []
  try {
    for (let ended = false; !ended;) {
      const died = await Promise.race([work(options, processes.length, kills[processes.length]), never(beside)])
      processes.push(died)
      journals.push(await readJournals(dir))
      ended = !died.killed
    }
  } finally {
    stop.abort()
    await beside
  }
  return {
    processes,
    journals,
    effects: read<SeenEffect>(dir, 'effects'),
    acks: read<SeenAck>(dir, 'acks'),
    result: parsed(processes.at(-1)?.output ?? ''),
  }
}

/** What an earlier test left would be taken for this one's, and a place that is not passed kills nobody: the test would show nothing. */
function check({ dir, kills }: CrashOptions): void {
  if ([databaseFile(dir), linesFile(dir, 'effects'), linesFile(dir, 'acks')].some((file) => existsSync(file)))
    throw new NerveError('bad-option', `The folder ${dir} has runs in it. Give crash() an empty one: mkdtempSync.`)
  for (const kill of kills) {
    if (!('at' in kill)) continue
    const [name, passing = '1', ...more] = kill.at.split(':')
    if (FAILPOINTS.some((known) => known === name) && /^[1-9]\d*$/.test(passing) && more.length === 0) continue
    throw new NerveError(
      'bad-option',
      `'${kill.at}' is not a failpoint. Give a name, or a name and which passing (commit-before:2): ${FAILPOINTS.join(', ')}.`,
    )
  }
}

/** Every run in a project folder, with its journal. Reads only. */
export async function readJournals(dir: string): Promise<readonly SeenRun[]> {
  const file = databaseFile(dir)
  if (!existsSync(file)) return []
  const store = await openSqliteStore({ file, readOnly: true }).catch(() => undefined)
  if (store === undefined) return []
  try {
    const heads = (await store.heads({})).toReversed()
    return await Promise.all(heads.map(async (one) => ({ ...one, entries: await readEntries(store, one.head.run) })))
  } finally {
    await store.close()
  }
}

/** True when the last process was not the first: something was killed and taken up again. */
export function wasKilled(report: CrashReport): boolean {
  return report.processes.some((one) => one.killed)
}

interface Died extends WorkerEnd {
  readonly killed: boolean
}

async function work(options: CrashOptions, by: number, kill: Kill | undefined): Promise<Died> {
  const env = { ...options.env, [FOLDER]: options.dir, NERVE_CRASH_PROCESS: String(by) }
  if (by > 0 && kill === undefined && options.survivor !== undefined)
    return { ...(await options.survivor(env)), killed: false }
  return spawned(options, { ...env, NERVE_FAILPOINT: kill !== undefined && 'at' in kill ? kill.at : '' }, kill)
}

function spawned(options: CrashOptions, env: WorkerEnvironment, kill: Kill | undefined): Promise<Died> {
  const { worker, args = [], patience = 20_000 } = options
  const child = spawn(process.execPath, [...conditions(), worker, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let output = ''
  let errors = ''
  let timer: NodeJS.Timeout | undefined
  let late = false
  const limit = setTimeout(() => {
    late = true
    child.kill('SIGKILL')
  }, patience)
  child.stdout.on('data', (data: Buffer) => {
    output += String(data)
    if (kill !== undefined && 'after' in kill) timer ??= setTimeout(() => child.kill('SIGKILL'), kill.after)
  })
  child.stderr.on('data', (data: Buffer) => {
    errors += String(data)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(limit)
      clearTimeout(timer)
      if (late) errors += `\nprocess ${env['NERVE_CRASH_PROCESS']} did not end within ${patience} ms`
      resolve({ killed: signal === 'SIGKILL' && !late, code, errors, output })
    })
  })
}

/** The import conditions of this process, for its children. */
function conditions(): string[] {
  const flags = process.execArgv
  return flags.flatMap((flag, at) => {
    if (flag.startsWith('--conditions=')) return [flag]
    return flag === '--conditions' || flag === '-C' ? [`--conditions=${flags[at + 1]}`] : []
  })
}

/** Rejects with the promise, and never resolves: somebody beside the workers may fail, and may be done early. */
function never(promise: Promise<void> | undefined): Promise<never> {
  return new Promise((_, reject) => void promise?.catch(reject))
}

function linesFile(folder: string, name: 'effects' | 'acks'): string {
  return join(folder, `${name}.jsonl`)
}

function write(folder: string, name: 'effects' | 'acks', line: unknown): void {
  appendFileSync(linesFile(folder, name), `${JSON.stringify(line)}\n`)
}

function read<Line>(folder: string, name: 'effects' | 'acks'): Line[] {
  const file = linesFile(folder, name)
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}

function parsed(output: string): unknown {
  const last = output.trimEnd().split('\n').at(-1) ?? ''
  try {
    return JSON.parse(last)
  } catch {
    return last
  }
}
