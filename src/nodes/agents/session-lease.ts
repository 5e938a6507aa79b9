/**
 * One process of a machine works in a session of an agent at a time. Who does holds a lock of the system, which is given back when
 * the process ends, however it ends. Beside the lock it is written who that is: for whoever wants the session too, and to find
 * what a killed process has left running in it.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

/** Holds the session until what it returns is called. What an earlier process has left running in it has ended by then. */
export async function leaseSession(ref: SessionRef, holder: Omit<Holder, 'pid'>): Promise<() => void> {
  const { lock, record } = filesOf(ref, holder.node)
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

/** Ends everything that carries the mark, and what is known to belong to it. */
export async function endTree(mark: string, kin?: ReadonlySet<string>): Promise<void> {
  await killTree({ mark, root: -1, rootEnded: () => true }, GRACE_MS, kin)
}

function filesOf({ agent, id }: SessionRef, node: string): { readonly lock: string; readonly record: string } {
  const folder = join(stateFolder(), 'agent-sessions')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new NerveError(
      'not-ready',
      `Agent '${node}' cannot note down that it works in session ${id} of ${agent}: ${(cause as Error).message}. Name a folder that can be written in XDG_STATE_HOME.`,
      { cause, data: { node, session: id } },
    )
  }
  const name = join(folder, contentHash(`${agent} ${id}`))
  return { lock: `${name}.lock`, record: `${name}.json` }
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
