// The instruments: clock, CPU time, bytes written, size on disk, memory; and the visible side effect by which a step that
// ran twice is found out.
import { appendFileSync, existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const now = (): number => performance.now()

/** CPU milliseconds used by all threads of this process so far. */
export function cpuMs(): number {
  const used = process.cpuUsage()
  return (used.user + used.system) / 1000
}

/** Bytes this process has handed to write calls so far; null where the system does not tell. */
export function writtenBytes(): number | null {
  try {
    const found = /^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))
    return found === null ? null : Number(found[1])
  } catch {
    return null
  }
}

export function bytesOnDisk(dir: string): number {
  if (!existsSync(dir)) return 0
  const files = readdirSync(dir, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
}

export const rssMb = (): number => process.memoryUsage.rss() / 1048576

/** Collects garbage until the heap stops shrinking, and lets freed pages go back to the system. */
export async function settleMemory(): Promise<{ rssMb: number; heapMb: number }> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return { rssMb: rssMb(), heapMb: process.memoryUsage().heapUsed / 1048576 }
}

const FILLER = filler(8192)

function filler(length: number): string {
  let state = 12345
  let result = ''
  while (result.length < length) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    result += ((state >> 12) % 36).toString(36)
  }
  return result
}

/** ASCII text of exactly `bytes` bytes (at most 8 KB). Every seed gives another text, so that no store can keep two as one. */
export const text = (bytes: number, seed: number): string => `${seed}:${FILLER}`.slice(0, bytes)

export function expectEqual(actual: unknown, wanted: unknown, what: string): void {
  if (actual === wanted) return
  throw new Error(`wrong result: ${what} is ${JSON.stringify(actual)}, should be ${JSON.stringify(wanted)}`)
}

export const sumBelow = (n: number): number => (n * (n - 1)) / 2

const effectsFile = (dir: string): string => join(dir, 'effects.log')
let effects = 0

/** A step's side effect: one line on disk. Returns how many this process has made. */
export function effect(dir: string, name: string | number): number {
  appendFileSync(effectsFile(dir), `${name}\n`)
  effects += 1
  return effects
}

/** How many side effects happened more than once. */
export function repeatedEffects(dir: string): number {
  if (!existsSync(effectsFile(dir))) return 0
  const lines = readFileSync(effectsFile(dir), 'utf8').trimEnd().split('\n')
  return lines.length - new Set(lines).size
}

/** Ends the process as `kill -9` would: no handler, no flush. The wait lets stores that write late get their chance. */
export async function killSelf(): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, 100))
  process.kill(process.pid, 'SIGKILL')
  return new Promise<never>(() => {})
}

/** The body of a step in the crash workloads: makes its effect, and the (n+1)-th effect of a seeding process kills it. */
export async function effectThenMaybeDie(dir: string, name: string | number, dieAfter: number | null): Promise<void> {
  const made = effect(dir, name)
  if (dieAfter !== null && made > dieAfter) await killSelf()
}

/** The steps that step i of the benchmark's graph comes after: two earlier ones, so that it is ten wide and all of one piece. */
export const edgesBefore = (i: number): number[] => (i < 10 ? [] : [i - 10, i - 7])

/** Texts made before the clock starts, each used once per run: making one costs more than a step does. */
export const textsOf = (bytes: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => text(bytes, i))
