/**
 * What a pane printed, kept by the multiplexer's side while nobody listens: raw, with the marks of the shell, so that what
 * a command printed and how it ended is known exactly, also when its host had died. The last megabytes: a file that is
 * written, and the one before it.
 */
import { randomBytes } from 'node:crypto'
import { constants, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError } from '../../base/nerve-error.ts'
import type { Past } from '../terminal/terminal-process.ts'
import { quoted } from './launcher.ts'

/** How much one file holds at most; when output comes in small pieces, less. */
const BLOCK = 4_096
const BLOCKS = 1_024
const SYNC = '\u001b]7777;nerve-sync;'
// oxlint-disable-next-line no-control-regex -- the words with which processes before this one found their place.
const SYNCS = /\u001b\]7777;nerve-sync;[0-9a-f]+\u0007/g
const LOOK_MS = 5
const PATIENCE_MS = 5_000
const NOTHING: Buffer = Buffer.alloc(0)

/** A new folder for a new pane. */
export function newRecord(folder: string): void {
  dropRecord(folder)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const ignore = join(dirname(dirname(folder)), '.gitignore')
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
}

export function dropRecord(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 })
}

/** The line of shell to which the multiplexer hands what is printed. `dd` writes at once what it has read. */
export function recordCommand(folder: string): string {
  const copy = `dd bs=${BLOCK} count=${BLOCKS} of=now 2>/dev/null && [ -s now ]`
  const turn = 'n=$((n + 1)); mv now old.$n; rm -f old.$((n - 1))'
  return `umask 077; cd ${quoted(folder)} && n=0; while ${copy}; do ${turn}; done`
}

/** Everything that is kept, of one moment: when the files have taken turns meanwhile, it is read again. */
function readRecord(folder: string): { readonly bytes: Buffer; readonly cut: boolean } {
  for (;;) {
    const turn = turnOf(folder)
    const old = turn === 0 ? NOTHING : bytesOf(join(folder, `old.${turn}`))
    const now = bytesOf(join(folder, 'now')) ?? NOTHING
    if (old !== undefined && turnOf(folder) === turn) return { bytes: Buffer.concat([old, now]), cut: turn > 0 }
  }
}

function turnOf(folder: string): number {
  const found = names(folder).flatMap((name) => /^old\.(\d+)$/.exec(name)?.[1] ?? [])
  return Math.max(0, ...found.map(Number))
}

/** What a listener heard since it began to listen, in pieces that it goes on getting. */
export interface Heard {
  readonly pieces: Buffer[]
  /** Resolves with the next piece. */
  readonly more: () => Promise<void>
}

/**
 * Where the record ends and what is heard begins. A word that nobody has said is printed at the terminal; it comes both
 * ways, and is then taken out of both. What was heard after it stays in `pieces`.
 */
export async function pastUntilNow(folder: string, tty: string, heard: Heard): Promise<Past> {
  if (!existsSync(folder)) throw lost(folder)
  const sign = `${SYNC}${randomBytes(8).toString('hex')}\u0007`
  // A terminal that is stopped by Ctrl-S takes nothing, and prints nothing.
  if (!(await say(tty, sign))) return wholePast(folder)
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const all = Buffer.concat(heard.pieces)
    const at = all.indexOf(sign)
    const { bytes, cut } = readRecord(folder)
    const end = bytes.lastIndexOf(sign)
    if (at >= 0 && end >= 0) {
      const rest = all.subarray(at + sign.length)
      heard.pieces.splice(0, heard.pieces.length, ...(rest.length === 0 ? [] : [rest]))
      return { bytes: withoutSigns(bytes.subarray(0, end)), cut }
    }
    if (performance.now() > deadline) throw lost(folder)
    await Promise.race([heard.more(), delay(LOOK_MS)])
  }
}

/** Everything, for when nothing more will come. */
export function wholePast(folder: string): Past {
  const { bytes, cut } = readRecord(folder)
  return { bytes: withoutSigns(bytes), cut }
}

function withoutSigns(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  return text.includes(SYNC) ? Buffer.from(text.replaceAll(SYNCS, ''), 'latin1') : bytes
}

async function say(tty: string, sign: string): Promise<boolean> {
  const file = await open(tty, constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK)
  try {
    await file.write(sign)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
    throw error
  } finally {
    await file.close()
  }
}

function lost(folder: string): NerveError {
  return new NerveError(
    'pane-failed',
    `What the pane prints is no longer kept in ${folder}: the folder was deleted, or somebody piped the pane elsewhere. stop() ends the pane; then start again.`,
    { data: { reason: 'record' } },
  )
}

function bytesOf(file: string): Buffer | undefined {
  return ifThere(() => readFileSync(file))
}

function names(folder: string): string[] {
  return ifThere(() => readdirSync(folder)) ?? []
}

function ifThere<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
