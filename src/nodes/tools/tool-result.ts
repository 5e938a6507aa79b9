/** What a model is given of what a tool gave. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, isNerveError } from '../../base/nerve-error.ts'
import { contentHash, encodeValue } from '../../base/value.ts'

export interface ToolResult {
  readonly text: string
  /** True when the tool did not do it. */
  readonly failed?: true
}

export interface ResultLimit {
  /** The most characters. */
  readonly most: number
  readonly spillDir: string | undefined
}

const LONGEST_ERROR = 2_000

/** The text of a result: itself, or as JSON. */
export function resultText(output: unknown): string {
  if (typeof output === 'string') return output
  if (output === undefined) return '(it gave nothing)'
  return encodeValue(output, 'the result of a tool').text ?? '(it gave nothing)'
}

/** What did not work, so that the model can do something about it. */
export function failedResult(problem: unknown): ToolResult {
  const text = typeof problem === 'string' ? problem : errorText(problem)
  return { failed: true, text: text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR)}…` : text }
}

/** A result that fits; all of one that does not is in a file, and the model is told where. */
export async function fitted(text: string, { most, spillDir }: ResultLimit): Promise<ToolResult> {
  if (text.length <= most) return { text }
  const file = join(await spillFolder(spillDir), `${contentHash(text).slice(0, 24)}.txt`)
  if (!existsSync(file)) await writeFile(file, text, { mode: 0o600 })
  const head = Math.ceil(most / 2)
  const note = `\n… ${text.length - most} characters are left out here. The whole result is in the file ${file} …\n`
  return { text: text.slice(0, head) + note + text.slice(text.length - (most - head)) }
}

let ownFolder: Promise<string> | undefined

/** One folder for each process: what is in it is for the people and models of now. */
async function spillFolder(given: string | undefined): Promise<string> {
  if (given === undefined) return (ownFolder ??= mkdtemp(join(tmpdir(), 'nerve-results-')))
  await mkdir(given, { recursive: true })
  return given
}

function errorText(thrown: unknown): string {
  if (thrown === undefined) return 'It failed. What it said was lost when the process was started again.'
  if (isNerveError(thrown, 'command-failed')) return `${thrown.message}\n${describe(thrown.data)}`
  return thrown instanceof Error ? thrown.message : describe(thrown)
}
