/**
 * Exchanges as files in a folder: one for each, called after the key of its request and numbered where a request was made again.
 * Requests and replies are kept in no provider's words, so that a recording answers clients of every format. Without secrets.
 */
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { createRedactor } from '../../base/redact.ts'
import type { ModelFailure, ModelReply, ModelRequest } from '../exchange.ts'
import { parseJson } from '../formats/fields.ts'
import { keyOf, normalRequest, type NormalRequest } from '../request-key.ts'

export interface Recording {
  readonly version: 1
  readonly request: NormalRequest
  /** One of the two. */
  readonly reply?: ModelReply
  readonly failure?: ModelFailure
}

export interface RecordingOptions {
  readonly folder: string
  /** Takes out of every text what differs from run to run: dates, folders, ids. The same for recording and replaying. */
  readonly normalise?: (text: string) => string
}

export interface KeptRequest {
  readonly key: string
  readonly request: NormalRequest
}

export const RECORDING_FILE = /^([0-9a-f]{16})-(\d+)\.json$/
const redactor = createRedactor({ longest: Infinity })

/** The request as it is kept, and its key. */
export function kept(request: ModelRequest, { normalise }: RecordingOptions): KeptRequest {
  const clean = redactor.value(normalRequest(request))
  const normal = (normalise === undefined ? clean : mapTexts(clean, normalise)) as NormalRequest
  return { key: keyOf(normal), request: normal }
}

/** Writes an exchange under the next free number of its key. */
export async function writeRecording(
  { folder }: RecordingOptions,
  { key, request }: KeptRequest,
  outcome: { readonly reply: ModelReply } | { readonly failure: ModelFailure },
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const recording = { version: 1, request, ...(redactor.value(outcome) as object) }
  const text = `${JSON.stringify(recording, null, 2)}\n`
  for (let number = 1; ; number += 1) {
    try {
      return await writeFile(join(folder, `${key}-${number}.json`), text, { flag: 'wx', mode: 0o600 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/** All recordings of a folder by key, each in the order in which they were made. */
export async function readRecordings(folder: string): Promise<ReadonlyMap<string, readonly Recording[]>> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new NerveError('not-found', `There are no recordings in ${folder}: the folder cannot be read.`, { cause })
  })
  const found = names.flatMap((name) => {
    const [, key, number] = RECORDING_FILE.exec(name) ?? []
    return key === undefined ? [] : [{ name, key, number: Number(number) }]
  })
  const byKey = new Map<string, Recording[]>()
  for (const { name, key } of found.toSorted((one, two) => one.number - two.number)) {
    const recordings = byKey.get(key) ?? []
    recordings.push(await readRecording(join(folder, name)))
    byKey.set(key, recordings)
  }
  return byKey
}

async function readRecording(file: string): Promise<Recording> {
  const data = parseJson(await readFile(file, 'utf8')) as Partial<Recording> | undefined
  if (data?.version === 1 && data.request !== undefined && (data.reply ?? data.failure) !== undefined)
    return data as Recording
  throw new NerveError('bad-file', `${file} is no recording of an exchange. Remove it, or record it again.`)
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapTexts(one, map)]))
}
