/** What Claude Code has on disk of a conversation: the transcript, and which process has it open. */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Usage } from '../../journal/events.ts'
import { parseStat } from '../process-table.ts'
import { isFields } from './hook-events.ts'

const LOOK_MS = 50

/** The file with the conversation; undefined when there is nothing to resume. */
export function transcriptOf(configDir: string, session: string): string | undefined {
  const projects = join(configDir, 'projects')
  return namesIn(projects)
    .map((name) => join(projects, name, `${session}.jsonl`))
    .find((file) => existsSync(file))
}

/** The living process that has this conversation open, as Claude Code itself notes it. */
export function openElsewhere(configDir: string, session: string): number | undefined {
  const folder = join(configDir, 'sessions')
  for (const name of namesIn(folder).filter((one) => one.endsWith('.json'))) {
    const { pid, sessionId, procStart } = jsonFile(join(folder, name))
    if (sessionId === session && typeof pid === 'number' && lives(pid, procStart)) return pid
  }
  return undefined
}

/** How long a transcript is, to tell later what a turn has added. */
export function lengthOf(transcript: string | undefined): number {
  if (transcript === undefined) return 0
  return statSync(transcript, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * What the answers after this place have cost. Claude Code writes them a moment after it has said that it is done, so the
 * last one is waited for, within reason. The path comes from outside: only a transcript of the session is read.
 */
export async function usageSince(
  transcript: string | undefined,
  session: string,
  { from, patience }: { readonly from: number; readonly patience: number },
): Promise<Usage | undefined> {
  if (transcript === undefined || basename(transcript) !== `${session}.jsonl`) return undefined
  const deadline = performance.now() + patience
  for (;;) {
    const { over, usage } = await readUsage(transcript, from)
    if (over || performance.now() > deadline) return usage
    await delay(LOOK_MS)
  }
}

async function readUsage(transcript: string, from: number): Promise<{ over: boolean; usage: Usage | undefined }> {
  if (lengthOf(transcript) <= from) return { over: false, usage: undefined }
  // There is a line for each block of a message, with the usage of the whole message in each.
  const spent = new Map<unknown, number>()
  let over = false
  const file = await open(transcript)
  try {
    for await (const line of file.readLines({ start: from, autoClose: false })) {
      if (!line.includes('"usage"')) continue
      const { type, message } = jsonOf(line)
      if (type !== 'assistant' || !isFields(message) || !isFields(message['usage'])) continue
      spent.set(message['id'], tokensOf(message['usage']))
      over = message['stop_reason'] !== 'tool_use' && message['stop_reason'] !== null
    }
  } finally {
    await file.close()
  }
  if (spent.size === 0) return { over, usage: undefined }
  return { over, usage: { tokens: [...spent.values()].reduce((sum, tokens) => sum + tokens, 0), calls: spent.size } }
}

const COUNTED = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens']

function tokensOf(usage: Readonly<Record<string, unknown>>): number {
  return COUNTED.reduce((sum, name) => sum + (typeof usage[name] === 'number' ? usage[name] : 0), 0)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** A process with this number that began at another time is another one. Only Linux tells. */
function lives(pid: number, started: unknown): boolean {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return true
  const stat = parseStat(pid, textOf(`/proc/${pid}/stat`))
  return stat !== undefined && (typeof started !== 'string' || stat.started === started)
}

function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}

function jsonFile(file: string): Readonly<Record<string, unknown>> {
  return jsonOf(textOf(file))
}

/** Empty when it is gone, half written, or of a form that is not known. */
function jsonOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : {}
  } catch {
    return {}
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
