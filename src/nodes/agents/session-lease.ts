/**
 * One process of a machine works in a session of an agent at a time. Who does holds a lock of the system, which is given back when
 * the process ends, however it ends. Beside the lock it is written who that is: for whoever wants the session too, and to find
 * what a killed process has left running in it.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { holdFile } from '../../base/file-lock.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { stateFolder } from '../../base/state-folder.ts'
import { contentHash } from '../../base/value.ts'
import { killTree } from '../process-tree.ts'
import type { SessionRef } from './adapter.ts'

interface Holder {
  /** The id of the node. */
  readonly node: string
  readonly pid: number
  /** Everything that works in the session can be found by it. */
  readonly mark: string
}

const GRACE_MS = 1_000
/** Whoever was killed leaves its files. What nobody has gone on with for so long, nobody looks for. */
const FORGOTTEN_MS = 30 * 24 * 3_600_000

/** Holds the session until what it returns is called. What an earlier process has left running in it has ended by then. */
export async function leaseSession(ref: SessionRef, holder: Omit<Holder, 'pid'>): Promise<() => void> {
  const { lock, record } = filesOf(ref, holder.node)
  forget(dirname(lock))
  const letGo = holdFile(lock)
  if (letGo === undefined) throw taken(ref, holder.node, readHolder(record))
  try {
    const before = readHolder(record)
    if (before !== undefined) await endTree(before.mark)
    writeFileSync(record, JSON.stringify({ ...holder, pid: process.pid } satisfies Holder), { mode: 0o600 })
  } catch (error) {
    letGo()
    throw error
  }
  return () => {
    rmSync(record, { force: true })
    letGo()
  }
}

/** Removes what was left long ago, where nobody holds it. What was put off stays: a person may think for months. */
function forget(folder: string): void {
  const before = Date.now() - FORGOTTEN_MS
  for (const name of readdirSync(folder)) {
    const lock = join(folder, name)
    if (!name.endsWith(LOCK) || (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? before) >= before) continue
    try {
      const letGo = holdFile(lock)
      if (letGo !== undefined) rmSync(`${lock.slice(0, -LOCK.length)}${RECORD}`, { force: true })
      letGo?.()
    } catch {
      // One that cannot be held stays: it is in nobody's way.
    }
  }
}

/** Ends everything that carries the mark, and what is known to belong to it. */
export async function endTree(mark: string, kin?: ReadonlySet<string>): Promise<void> {
  await killTree({ mark, root: -1, rootEnded: () => true }, GRACE_MS, kin)
}

const LOCK = '.lock'
const RECORD = '.json'

type Files = Readonly<Record<'lock' | 'record' | 'note', string>>

function filesOf({ agent, id }: Pick<SessionRef, 'agent' | 'id'>, node: string): Files {
  const problems: Error[] = []
  for (const folder of places())
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      checkOwn(folder)
      const name = join(folder, contentHash(`${agent} ${id}`))
      return { lock: `${name}${LOCK}`, record: `${name}${RECORD}`, note: `${name}.put` }
    } catch (problem) {
      problems.push(problem as Error)
    }
  const why = problems.map(({ message }) => message).join('; ')
  throw new NerveError(
    'not-ready',
    `Agent '${node}' cannot note down that it works in session ${id} of ${agent}: ${why}. Let one of these folders be made, with nobody else who may write in it; another place for the last is named in XDG_STATE_HOME.`,
    { cause: problems.at(-1), data: { node, session: id } },
  )
}

/** The home that the system knows, whatever the variables of this process say: one place for all that the user runs. Where there is none, another. */
function places(): readonly string[] {
  const other = join(stateFolder(), 'agent-sessions')
  try {
    return [join(userInfo().homedir, '.local', 'state', 'nerve', 'agent-sessions'), other]
  } catch {
    // A user without an entry, as in some containers.
    return [other]
  }
}

/** Where others can write, they could say who works in a session, and where a record goes. */
function checkOwn(folder: string): void {
  const found = lstatSync(folder)
  const { uid, mode } = found
  // Where users have no numbers, as on Windows, modes say nothing of others either.
  const isOpen = process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0)
  if (!found.isDirectory() || isOpen) throw new Error(`${folder} is not a folder of this user alone`)
}

/** Notes down that a step has put off what it does in the session, and that it is as that step left it. */
export function notePut(ref: SessionRef, node: string, step: string): void {
  writeFileSync(filesOf(ref, node).note, step, { mode: 0o600 })
}

/** Whether the session is as the step left it. Whoever asks is about to use it, so it is no more. */
export function takePut(ref: SessionRef, node: string, step: string): boolean {
  const { note } = filesOf(ref, node)
  try {
    return readFileSync(note, 'utf8') === step
  } catch {
    return false
  } finally {
    rmSync(note, { force: true })
  }
}

function readHolder(record: string): Holder | undefined {
  try {
    const { node, pid, mark } = JSON.parse(readFileSync(record, 'utf8')) as Partial<Holder>
    // Marks are looked for in everything that runs: an empty one would be found everywhere.
    const whole = typeof node === 'string' && typeof pid === 'number' && /^[0-9a-f]{32}$/.test(mark ?? '')
    return whole ? { node, pid, mark: mark ?? '' } : undefined
  } catch {
    return undefined
  }
}

function taken({ agent, id }: SessionRef, node: string, holder: Holder | undefined): NerveError {
  const who =
    holder === undefined
      ? 'another process has it open'
      : `node '${holder.node}' of ${holder.pid === process.pid ? 'this process' : `process ${holder.pid}`} has it open`
  return new NerveError(
    'not-ready',
    `Agent '${node}' cannot go on with session ${id} of ${agent}: ${who}. Stop that one, or go on in a copy: fork it.`,
    { data: { node, session: id, ...(holder === undefined ? {} : { holder: holder.node, pid: holder.pid }) } },
  )
}
