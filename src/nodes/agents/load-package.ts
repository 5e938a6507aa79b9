/** An agent that is a vendor's package, which Nerve does not bring: as the project has it, or as Nerve sees it. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { NerveError } from '../../base/nerve-error.ts'
import { CONTRACT, type AgentAdapter, type AgentOpen, type AgentProbe, type AgentSession } from './adapter.ts'

export interface VendorPackage extends Pick<AgentAdapter, 'name' | 'capabilities' | 'variables' | 'folders'> {
  readonly package: string
  readonly licence: string
  /** Its file, when it was said. */
  readonly file?: string | undefined
}

/** Its adapter: `open` is given the package that was loaded, and the file that it is, where that is known. */
export function packageAgent<Module>(
  wanted: VendorPackage,
  open: (module: Module, options: AgentOpen, file: string | undefined) => Promise<AgentSession>,
): AgentAdapter {
  const { name, variables, capabilities, folders } = wanted
  return {
    contract: CONTRACT,
    name,
    variables,
    capabilities,
    ...(folders === undefined ? {} : { folders }),
    probe: async () => probePackage(wanted),
    open: async (options) => {
      const file = wanted.file ?? packageEntry(wanted.package)
      return open((await loadPackage(wanted, file)) as Module, options, file)
    },
  }
}

async function loadPackage({ name, package: wanted }: VendorPackage, file: string | undefined): Promise<unknown> {
  try {
    return await import(file === undefined ? wanted : pathToFileURL(file).href)
  } catch (cause) {
    const install = installing(wanted)
    throw new NerveError('package-missing', `${name} needs the package ${wanted}. Install it: ${install}`, {
      data: { package: wanted, install },
      cause,
    })
  }
}

function probePackage({ package: name, licence, file }: VendorPackage): AgentProbe {
  const folder = file === undefined ? packageFolder(name) : existsSync(file) ? folderOf(file) : undefined
  const version = folder === undefined ? undefined : manifest(folder).version
  const known = { install: installing(name), licence }
  if (version === undefined) return { found: false, problem: `${name} was not found`, ...known }
  return { found: true, version, where: name, ...known }
}

function installing(name: string): string {
  return `npm install ${name}`
}

/** The file that importing a package means, as the project sees it; undefined when the project does not have it. */
function packageEntry(name: string): string | undefined {
  const folder = packageFolder(name)
  if (folder === undefined) return undefined
  const { exports: exported, main = 'index.js' } = manifest(folder)
  const entry = targetOf((exported as { '.'?: unknown } | undefined)?.['.'] ?? exported)
  return join(folder, entry ?? main)
}

export function packageFolder(name: string, from = process.cwd()): string | undefined {
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
