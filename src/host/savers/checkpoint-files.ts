/**
 * Checkpoints as files: a folder for each run, and in it a file for each checkpoint, named by its step. A file is there
 * as a whole or not at all. Whatever a run is called, nothing is written outside the folder.
 */
import { basename, join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { contentHash } from '../../base/value.ts'
import type { Checkpoint, CheckpointInfo, Saver } from '../../define/state/checkpoint.ts'

export interface CheckpointFormat {
  /** How the names of the files end, with the dot. */
  readonly extension: string
  write(checkpoint: Checkpoint): string
  /** What a file says, as it says it: it may have been written by hand. */
  read(text: string): unknown
}

interface Found {
  readonly file: string
  readonly step: number
  /** The part of the file's name that stands for the id. */
  readonly name: string
}

export function checkpointFiles(folder: string, format: CheckpointFormat): Saver {
  const folderOf = (run: string): string => join(folder, fileName(run, 'run'))
  return {
    async save(checkpoint) {
      const { mkdir } = await import('node:fs/promises')
      const inside = folderOf(checkpoint.run)
      await mkdir(inside, { recursive: true })
      const step = String(checkpoint.step).padStart(DIGITS, '0')
      const name = checkpoint.id === String(checkpoint.step) ? step : `${step}-${fileName(checkpoint.id, 'checkpoint')}`
      await writeWhole(join(inside, `${name}${format.extension}`), format.write(checkpoint))
    },
    async load(run, id) {
      const found = await filesIn(folderOf(run), format)
      const name = id === undefined ? undefined : fileName(id, 'checkpoint')
      const wanted = name === undefined ? found.at(-1) : found.find((one) => one.name === name)
      return wanted === undefined ? undefined : readFile(wanted.file, format, { run, id })
    },
    async list(run) {
      const found = await filesIn(folderOf(run), format)
      return inOrder(await Promise.all(found.map(({ file }) => readFile(file, format, { run })))).map(infoOf)
    },
    async delete(run, id) {
      const { rm, rmdir } = await import('node:fs/promises')
      const inside = folderOf(run)
      const name = id === undefined ? undefined : fileName(id, 'checkpoint')
      for (const one of await filesIn(inside, format))
        if (name === undefined || one.name === name) await rm(one.file, { force: true })
      // Only when nothing is left: somebody may keep notes beside the checkpoints.
      await rmdir(inside).catch(ignoreLeft)
    },
  }
}

const DIGITS = 8
const LONGEST = 120

/** A name for a file that says what it stands for, and that no file system reads as anything else. */
function fileName(id: string, what: string): string {
  if (typeof id !== 'string' || id === '') throw new NerveError('bad-option', `The id of a ${what} is empty.`)
  const safe = id.replaceAll(/[^a-z0-9_-]/gu, (character) =>
    Array.from(new TextEncoder().encode(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  )
  return safe.length <= LONGEST ? safe : `${safe.slice(0, LONGEST)}~${contentHash(id).replaceAll(/[^A-Za-z0-9]/gu, '')}`
}

/** The checkpoints in a folder, the earliest first. Other files are left alone. */
async function filesIn(folder: string, { extension }: CheckpointFormat): Promise<readonly Found[]> {
  const { readdir } = await import('node:fs/promises')
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  return names
    .flatMap((file): Found[] => {
      if (!file.endsWith(extension)) return []
      const parts = /^(\d+)(?:-(.+))?$/u.exec(file.slice(0, -extension.length))
      if (parts === null) return []
      const step = Number(parts[1])
      return [{ file: join(folder, file), step, name: parts[2] ?? String(step) }]
    })
    .toSorted((a, b) => a.step - b.step || (a.name < b.name ? -1 : 1))
}

async function readFile(
  file: string,
  format: CheckpointFormat,
  wanted: { readonly run: string; readonly id?: string | undefined },
): Promise<Checkpoint> {
  const fs = await import('node:fs/promises')
  let found: unknown
  try {
    found = format.read(await fs.readFile(file, 'utf8'))
  } catch (cause) {
    throw badFile(file, (cause as Error).message, cause)
  }
  const problem = shapeProblem(found)
  if (problem !== undefined) throw badFile(file, problem)
  const { run, id } = found as Checkpoint
  if (run !== wanted.run) throw badFile(file, `it says that it is of run ${run}`)
  if (wanted.id !== undefined && id !== wanted.id) throw badFile(file, `it says that it is ${id}`)
  return found as Checkpoint
}

function badFile(file: string, problem: string, cause?: unknown): NerveError {
  return new NerveError('bad-file', `The checkpoint ${basename(file)} cannot be used: ${problem}. It is at ${file}`, {
    ...(cause === undefined ? {} : { cause }),
  })
}

function shapeProblem(found: unknown): string | undefined {
  if (typeof found !== 'object' || found === null) return 'it is not an object'
  const { id, run, definition, step, nodes, state, next, time } = found as Record<string, unknown>
  const wrong = Object.entries({
    id: typeof id === 'string',
    run: typeof run === 'string',
    definition: typeof definition === 'string',
    step: Number.isInteger(step),
    nodes: isTexts(nodes),
    state: typeof state === 'object' && state !== null && !Array.isArray(state),
    next: isTexts(next),
    time: typeof time === 'number',
  }).flatMap(([field, fits]) => (fits ? [] : [field]))
  return wrong.length === 0 ? undefined : `these fields are missing or not what they should be: ${wrong.join(', ')}`
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

/** Writes beside the file first: whoever reads it finds the old one or the new one. */
async function writeWhole(file: string, text: string): Promise<void> {
  const fs = await import('node:fs/promises')
  const beside = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`
  try {
    await fs.writeFile(beside, text)
    await fs.rename(beside, file)
  } catch (error) {
    await fs.rm(beside, { force: true })
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ENOENT'
}

function ignoreLeft(error: unknown): void {
  const { code } = error as { code?: unknown }
  if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
}

export function infoOf({ state: _state, pending: _pending, ...info }: Checkpoint): CheckpointInfo {
  return info
}

export function inOrder(checkpoints: readonly Checkpoint[]): readonly Checkpoint[] {
  return checkpoints.toSorted((a, b) => a.step - b.step || (a.id < b.id ? -1 : 1))
}
