// The door to packages that are installed for the benchmark only. The type checker of the product never sees them, so what
// comes through here has no type; the adapters are checked against the harness's contract instead.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// oxlint-disable-next-line typescript/no-explicit-any -- the packages are not installed where types are checked
export type Untyped = any

export const use = (name: string): Promise<Untyped> => import(name) as Promise<Untyped>

/** What the crash workloads and the counting workloads keep as state. */
export interface Counted {
  readonly count: number
  readonly other?: unknown
}

export interface Message {
  readonly role: string
  readonly content: string
}

export interface Messages {
  readonly messages: readonly Message[]
}

export function versionsOf(...packages: readonly string[]): Record<string, string> {
  return Object.fromEntries(packages.map((name) => [name, versionOf(name)]))
}

function versionOf(name: string): string {
  const file = join(import.meta.dirname, 'node_modules', name, 'package.json')
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
  return version
}
