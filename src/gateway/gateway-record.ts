/** Which gateways run: each writes a file while it does, beside its log. A file whose process is gone means nothing. */
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newId } from '../base/ids.ts'

export interface GatewayRecord {
  readonly pid: number
  readonly url: string
  readonly backends: readonly string[]
  /** In milliseconds since 1970. */
  readonly started: number
}

const FILE = /^gateway-[0-9a-z]{16}\.json$/

/** Returns what takes it back. */
export async function writeRecord(folder: string, record: GatewayRecord): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const { file, pid } of await readAll(folder)) if (!isAlive(pid)) await rm(file, { force: true })
  const file = join(folder, `gateway-${newId(record.started)}.json`)
  await writeFile(file, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  return () => rm(file, { force: true })
}

/** The gateways of a folder whose process lives. */
export async function runningGateways(folder: string): Promise<readonly GatewayRecord[]> {
  const all = await readAll(folder)
  return all.filter(({ pid }) => isAlive(pid)).map(({ file: _file, ...record }) => record)
}

async function readAll(folder: string): Promise<readonly (GatewayRecord & { readonly file: string })[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const found = await Promise.all(names.filter((name) => FILE.test(name)).map((name) => read(join(folder, name))))
  return found.flatMap((record) => (record === undefined ? [] : [record]))
}

async function read(file: string): Promise<(GatewayRecord & { readonly file: string }) | undefined> {
  try {
    return { ...(JSON.parse(await readFile(file, 'utf8')) as GatewayRecord), file }
  } catch {
    // It ended just now, or is being written.
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
