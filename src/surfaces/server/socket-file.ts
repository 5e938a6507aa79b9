/** The file of a unix socket: made where only its user can reach it, and never in the place of something else. */
import { chmodSync, lstatSync, mkdirSync, rmSync, type Stats } from 'node:fs'
import { connect } from 'node:net'
import { dirname, resolve } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'

/** What systems have room for; a longer path would be cut short, and be another one. */
const LONGEST_PATH = process.platform === 'darwin' ? 103 : 107
const ANSWER_MS = 1_000

/** Makes room for a socket at this path, or says why there must not be one. What a dead host left is removed. */
export async function prepareSocket(given: string): Promise<string> {
  const path = resolve(given)
  if (Buffer.byteLength(path) > LONGEST_PATH)
    throw new NerveError(
      'bad-option',
      `The path of the socket is longer than ${LONGEST_PATH} bytes, which is the most that systems allow: ${path}`,
    )
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  checkFolder(folder)
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there === undefined) return path
  checkOwn(there, path)
  if (there.isSymbolicLink() || !there.isSocket()) throw refused(path, 'is there already and is not a socket')
  if (await answers(path))
    throw new NerveError('owned-elsewhere', `Another host listens at ${path} already.`, { data: { socket: path } })
  rmSync(path)
  return path
}

/** Only its user may open it, also in the moment after it was made. */
export function listenPrivately(path: string, listen: () => void): void {
  const before = restrict()
  try {
    listen()
    chmodSync(path, 0o600)
  } finally {
    if (before !== undefined) process.umask(before)
  }
}

/** Threads cannot set it: then the folder has to do. */
function restrict(): number | undefined {
  try {
    return process.umask(0o177)
  } catch {
    return undefined
  }
}

function checkFolder(folder: string): void {
  const found = lstatSync(folder)
  if (!found.isDirectory()) throw refused(folder, 'is a link and not a folder')
  checkOwn(found, folder)
  if ((found.mode & 0o022) !== 0)
    throw refused(folder, 'can be written by others, who could put a socket of their own in it: chmod go-w it')
}

function checkOwn({ uid }: Stats, path: string): void {
  if (process.getuid !== undefined && uid !== process.getuid()) throw refused(path, 'belongs to another user')
}

function refused(path: string, why: string): NerveError {
  return new NerveError('not-allowed', `There must be no socket here: ${path} ${why}.`, { data: { reason: 'file' } })
}

function answers(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path)
    const end = (isThere: boolean): void => {
      socket.destroy()
      done(isThere)
    }
    // One that takes nobody in may just be busy: it is not ours to remove.
    socket.once('connect', () => end(true)).once('error', ({ code }: NodeJS.ErrnoException) => end(code === 'EAGAIN'))
    socket.setTimeout(ANSWER_MS, () => end(true))
  })
}
