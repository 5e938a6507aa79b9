/** The daemon of a project, from outside: finding it, starting it, and telling whether it still lives. */
import { spawn, type ChildProcess } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeOwnFolder } from '../../base/own-folder.ts'
import { NerveError, errorData, errorFrom, isNerveError, type ErrorData } from '../../base/nerve-error.ts'
import type { Client } from '../client/client.ts'
import { connect } from '../client/connect.ts'
import { daemonFiles, isLiving, isOwnSocket, readRecord, type DaemonRecord } from './daemon-files.ts'
import { MOST_LOG } from './turn-log.ts'

export interface FoundDaemon {
  readonly client: Client
  readonly record: DaemonRecord
}

/** The command that starts a daemon in the foreground: the program and its arguments. */
export type DaemonCommand = readonly [program: string, ...args: string[]]

/** How long a daemon that is there may take to answer: a workflow may keep its process busy. */
const ANSWER_MS = 10_000
/** How long one that is ending, or that somebody else starts, is waited for. */
export const CHANGE_MS = 30_000
/** How long one is waited for that was started here. */
const START_MS = 2 * CHANGE_MS
/** So many that are gone before they are found, and it is told of: something ends each of them. */
const MOST_STARTS = 5
const LOOK_MS = 50
const KEPT_BUSY = 'If a run keeps it from that: nerve ps, and nerve cancel RUN --local.'
/** Windows has no such flag. */
const NO_LINK = constants.O_NOFOLLOW ?? 0

/** The daemon that runs for this folder; undefined when there is none. */
export async function findDaemon(dir: string): Promise<FoundDaemon | undefined> {
  const record = readRecord(dir)
  if (record === undefined || !isLiving(record) || !isOwnSocket(record.socket)) return undefined
  try {
    return { client: await answered(connect(record.socket, { via: 'cli' }), record), record }
  } catch (error) {
    // It may have ended in this moment.
    if (isNerveError(error, 'connection-lost')) return undefined
    throw error
  }
}

/** The daemon of this folder, started when there is none. */
export async function ensureDaemon(dir: string, command: DaemonCommand): Promise<FoundDaemon & { started: boolean }> {
  const deadline = Date.now() + CHANGE_MS
  for (let starts = 0; ;) {
    const found = await findDaemon(dir)
    if (found !== undefined) return { ...found, started: false }
    if (starts >= MOST_STARTS) throw diesAgain()
    try {
      const child = await launch(dir, command)
      starts += 1
      const fresh = await findDaemon(dir).finally(() => letGo(child))
      if (fresh !== undefined) return { ...fresh, started: true }
    } catch (error) {
      // Somebody else has just started it, or it cannot be found where it was: then it sees to that.
      if (!isNerveError(error, 'owned-elsewhere') || Date.now() > deadline) throw error
      await delay(LOOK_MS)
    }
  }
}

function diesAgain(): NerveError {
  return new NerveError(
    'not-ready',
    'The daemon dies as soon as it has started. What it said last: nerve server logs. If a run takes it along: nerve ps, and nerve cancel RUN.',
  )
}

/**
 * For somebody who lost the connection: `died` when nobody ended it on purpose, `stopped` when somebody did, `lives` when it
 * is there, or another one in its place. `before` is the one that was lost: it may still be ending.
 */
export async function fateOf(
  dir: string,
  { patience = 3_000, before }: { readonly patience?: number; readonly before?: DaemonRecord } = {},
): Promise<'lives' | 'died' | 'stopped'> {
  const latest = Date.now() + CHANGE_MS
  for (let deadline = Date.now() + patience; ;) {
    const there = readRecord(dir) !== undefined
    // A process that was killed may be listed for a while: what counts is whether it answers.
    const found = there ? await findDaemon(dir) : undefined
    await found?.client.close()
    if (there) return found === undefined ? 'died' : 'lives'
    // Where another one takes its place, that comes when it has ended.
    if (before !== undefined && isLiving(before)) deadline = Math.min(Date.now() + patience, latest)
    if (Date.now() > deadline) return 'stopped'
    await delay(LOOK_MS)
  }
}

/**
 * Starts one in the background, and waits until it can be asked. It does not end before it is let go of. Throws what kept it from
 * starting.
 */
async function launch(dir: string, [program, ...args]: DaemonCommand): Promise<ChildProcess> {
  const { folder, log } = daemonFiles(dir)
  const fresh = !existsSync(folder)
  makeOwnFolder(folder)
  const written = openLog(log)
  const from = statSync(log).size
  const child = spawn(program, args, { cwd: dir, detached: true, stdio: ['ignore', written, written, 'ipc'] })
  closeSync(written)
  const said = await firstWord(child, () => readFrom(log, from))
  if ('error' in said) {
    const error = errorFrom(said.error)
    // Where another one runs, it is that one's log.
    if (fresh && !isNerveError(error, 'owned-elsewhere')) leaveNothing(log, folder)
    throw error
  }
  return child
}

function openLog(log: string): number {
  try {
    mkdirSync(dirname(log), { recursive: true, mode: 0o700 })
    if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > MOST_LOG) renameSync(log, `${log}.1`)
    // Not through a link: whoever could put one there would choose what is written to.
    return openSync(log, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | NO_LINK, 0o600)
  } catch (cause) {
    const why = (cause as Error).message
    throw new NerveError(
      'bad-file',
      `The log of the daemon could not be written: ${why}. Check who owns it, and its mode.`,
      { cause },
    )
  }
}

function letGo(child: ChildProcess): void {
  if (child.connected) child.disconnect()
  child.unref()
}

type Said = { readonly record: DaemonRecord } | { readonly error: ErrorData }

/** Tells the process that started this one that the daemon can be asked, or why not. */
export function announce(said: { readonly record: DaemonRecord } | { readonly error: unknown }): void {
  const message: Said = 'record' in said ? said : { error: errorData(said.error) }
  // Whoever started it may be gone already.
  if (isHeld()) process.send?.(message, () => undefined)
}

/** True while the process that started this one has not found the daemon yet. */
export function isHeld(): boolean {
  return process.connected === true
}

async function firstWord(child: ChildProcess, printed: () => string): Promise<Said> {
  const { promise, resolve, reject } = Promise.withResolvers<Said>()
  const failed = (code: 'timeout' | 'not-ready', what: string, advice = ''): void => {
    const text = [`The daemon ${what} before it could be asked.`, advice, printed()].filter((part) => part !== '')
    resolve({ error: errorData(new NerveError(code, text.join(' '))) })
  }
  const late = setTimeout(() => {
    child.kill('SIGKILL')
    failed('timeout', `took more than ${START_MS / 1_000} s`, KEPT_BUSY)
  }, START_MS)
  child.once('error', reject)
  child.once('exit', (code, signal) => {
    const ended = (): void => failed('not-ready', signal === null ? `ended with ${code}` : `was ended by ${signal}`)
    // What it said last may come after the news of its end.
    if (child.connected) child.once('disconnect', ended)
    else ended()
  })
  child.once('message', (message) => resolve(message as Said))
  try {
    return await promise
  } finally {
    clearTimeout(late)
    child.removeAllListeners('exit')
  }
}

/** What was written to a log after this place. */
function readFrom(log: string, from: number): string {
  return existsSync(log) ? readFileSync(log).subarray(from).toString('utf8').trim() : ''
}

/** A start that failed leaves no files behind, where there were none. */
function leaveNothing(log: string, folder: string): void {
  rmSync(log, { force: true })
  const ours = ['.gitignore', 'here', basename(dirname(log))]
  // Something else may be in it by now.
  if (readdirSync(folder).every((name) => ours.includes(name))) rmSync(folder, { recursive: true, force: true })
}

async function answered<Value>(asked: Promise<Value>, { pid }: DaemonRecord): Promise<Value> {
  const over = new AbortController()
  const late = delay(ANSWER_MS, undefined, { signal: over.signal, ref: false }).then(() => {
    throw new NerveError(
      'timeout',
      `The daemon (process ${pid}) does not answer. If it does not come back: nerve server stop --force`,
      { data: { pid } },
    )
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    over.abort()
    // Nobody waits for it any more.
    late.catch(() => undefined)
  }
}
