/** A vendor's package that Nerve does not bring: as the project has it, or as Nerve sees it. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { NerveError } from '../../base/nerve-error.ts'
import type { AgentProbe } from './adapter.ts'

export interface VendorPackage {
  readonly name: string
  /** What needs it, for messages. */
  readonly agent: string
  readonly install: string
  readonly licence: string
  /** Its file, when it was said. */
  readonly file?: string | undefined
}

export async function loadPackage<Module>(wanted: VendorPackage): Promise<Module> {
  const { name, agent, install, file } = wanted
  try {
    const found = file ?? packageEntry(name)
    return (await import(found === undefined ? name : pathToFileURL(found).href)) as Module
  } catch (cause) {
    throw new NerveError('package-missing', `${agent} needs the package ${name}. Install it: ${install}`, {
      data: { package: name, install },
      cause,
    })
  }
}

export function probePackage({ name, install, licence, file }: VendorPackage): AgentProbe {
  const folder = file === undefined ? packageFolder(name) : existsSync(file) ? folderOf(file) : undefined
  const version = folder === undefined ? undefined : manifest(folder).version
  if (version === undefined) return { found: false, problem: `${name} was not found`, install, licence }
  return { found: true, version, where: name, install, licence }
}

/** The file that importing a package means, as the project sees it; undefined when the project does not have it. */
function packageEntry(name: string): string | undefined {
  const folder = packageFolder(name)
  if (folder === undefined) return undefined
  const { exports: exported, main = 'index.js' } = manifest(folder)
  const entry = targetOf((exported as { '.'?: unknown } | undefined)?.['.'] ?? exported)
  return join(folder, entry ?? main)
}

function packageFolder(name: string, from = process.cwd()): string | undefined {
  const folder = join(from, 'node_modules', name)
  if (existsSync(join(folder, 'package.json'))) return folder
  return dirname(from) === from ? undefined : packageFolder(name, dirname(from))
}

function folderOf(file: string): string | undefined {
  const folder = dirname(file)
  if (existsSync(join(folder, 'package.json'))) return folder
  return dirname(folder) === folder ? undefined : folderOf(folder)
}

interface Manifest {
  readonly version?: string
  readonly main?: string
  readonly exports?: unknown
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

function targetOf(target: unknown): string | undefined {
  if (typeof target === 'string') return target
  if (typeof target !== 'object' || target === null) return undefined
  const { import: imported, node, default: usual } = target as Readonly<Record<string, unknown>>
  return targetOf(imported) ?? targetOf(node) ?? targetOf(usual)
}
