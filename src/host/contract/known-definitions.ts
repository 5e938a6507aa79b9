/**
 * What can be started by name: what code has registered, specs that came as data, and what the files of a folder export.
 * Files are looked at when they are asked for, so that they can be changed while the host runs. Neighbours may also name
 * any other file: they could run it without Nerve.
 */
import { existsSync } from 'node:fs'
import { NerveError } from '../../base/nerve-error.ts'
import { nearest } from '../../base/nearest.ts'
import type { AnyDefinition } from '../../engine/definition.ts'
import { isDefinition } from '../../engine/run-node.ts'
import type { Budget } from '../../journal/events.ts'
import { builtInAt, isBuiltIn } from '../definition-source.ts'
import type { Host } from '../host.ts'
import { sessionOfSending } from '../sessions/sending.ts'
import type { FileProblem } from './created-definitions.ts'
import type { Specs } from './specs.ts'

export interface KnownDefinition {
  readonly definition: AnyDefinition
  /** The file that a run of it finds it in again; one that code has registered has none. */
  readonly source?: string
}

export interface KnownOptions {
  /** The files in it are definitions too. */
  readonly folder?: string | undefined
  /** Asked each time before they are loaded. */
  readonly mayLoad?: (() => boolean) | undefined
  /** What runs may spend, below what their definitions and their starts say. */
  readonly budget?: Budget | undefined
  readonly onProblem: (error: unknown) => void
}

/** What the files of the folder hold, and those that could not be loaded. */
interface InFolder {
  readonly known: readonly KnownDefinition[]
  readonly unloaded: readonly FileProblem[]
}

export class KnownDefinitions {
  readonly #host: Host
  readonly #specs: Specs
  readonly #options: KnownOptions

  constructor(host: Host, specs: Specs, options: KnownOptions) {
    this.#host = host
    this.#specs = specs
    this.#options = options
  }

  get budget(): Budget | undefined {
    return this.#options.budget
  }

  /** All of them, by name. What was registered goes before a file that has one of the same name. */
  async all(): Promise<readonly KnownDefinition[]> {
    return (await this.#look()).all
  }

  async named(name: string): Promise<KnownDefinition> {
    await this.#specs.ready()
    const registered = this.#registered(name)
    if (registered !== undefined) return registered
    const { all, unloaded } = await this.#look()
    const more = this.#isLocked ? ` ${LOCKED}` : unloaded.length > 0 ? ` ${LACKS_SOME}` : ''
    return all.find(({ definition }) => definition.name === name) ?? refuse(name, all, more)
  }

  async #look(): Promise<InFolder & { readonly all: readonly KnownDefinition[] }> {
    await this.#specs.ready()
    const inFolder = await this.#inFolder()
    const found = new Map<string, KnownDefinition>()
    for (const one of inFolder.known) if (!found.has(one.definition.name)) found.set(one.definition.name, one)
    for (const { problem } of inFolder.unloaded) this.#options.onProblem(problem)
    for (const name of this.#host.registry.names.keys()) {
      const one = this.#registered(name)
      if (one !== undefined) found.set(name, one)
    }
    const all = [...found.values()].toSorted((a, b) => (a.definition.name < b.definition.name ? -1 : 1))
    return { ...inFolder, all }
  }

  /** Why some that somebody may look for are not among them. */
  async problems(): Promise<readonly FileProblem[]> {
    await this.#specs.ready()
    const { unloaded } = await this.#inFolder()
    return [...this.#specs.problems, ...(await this.#lockedFolder()), ...unloaded]
  }

  async #lockedFolder(): Promise<readonly FileProblem[]> {
    const { folder = '' } = this.#options
    if (!this.#isLocked) return []
    const { definitionFiles } = await import('../definition-folder.ts')
    const isEmpty = (await definitionFiles(folder)).length === 0
    return isEmpty ? [] : [{ source: folder, problem: new NerveError('not-trusted', LOCKED) }]
  }

  get #isLocked(): boolean {
    const { folder, mayLoad } = this.#options
    return folder !== undefined && existsSync(folder) && mayLoad?.() === false
  }

  #registered(name: string): KnownDefinition | undefined {
    const definition = this.#host.registry.names.get(name)
    if (!isDefinition(definition) || sessionOfSending(name) !== undefined) return undefined
    const source = this.#specs.sourceOf(name)
    return { definition, ...(source === undefined ? {} : { source }) }
  }

  /** The first definition of a file, or the one of this name. */
  async inFile(source: string, name?: string): Promise<KnownDefinition> {
    const found = isBuiltIn(source) ? await builtInAt(source) : await inCode(source)
    const all = found.map((definition) => ({ definition, source }))
    const [first] = all
    if (name === undefined && first !== undefined) return first
    return all.find(({ definition }) => definition.name === name) ?? refuse(name ?? '', all)
  }

  async #inFolder(): Promise<InFolder> {
    const { folder } = this.#options
    if (folder === undefined || !existsSync(folder) || this.#isLocked) return { known: [], unloaded: [] }
    const { definitionFiles, definitionsIn } = await import('../definition-folder.ts')
    const loaded = await definitionsIn(await definitionFiles(folder))
    return {
      known: loaded.flatMap(({ source, definitions }) => definitions.map((definition) => ({ definition, source }))),
      unloaded: loaded.flatMap(({ source, problem }) => (problem === undefined ? [] : [{ source, problem }])),
    }
  }
}

async function inCode(source: string): Promise<readonly AnyDefinition[]> {
  const { loadDefinitions } = await import('../definition-file.ts')
  return loadDefinitions(source)
}

const LOCKED = 'Files in the folder for workflows are not loaded: nobody has trusted this project yet (nerve trust).'

const LACKS_SOME = 'A file in the folder for workflows could not be loaded: nerve workflow list says why.'

function refuse(name: string, all: readonly KnownDefinition[], more = ''): never {
  const known = all.map(({ definition }) => definition.name)
  const meant = nearest(name, known)
  const hint =
    known.length === 0
      ? 'None is known.'
      : meant === undefined
        ? `Known: ${known.slice(0, 20).join(', ')}.`
        : `Did you mean '${meant}'?`
  throw new NerveError('not-found', `There is no definition '${name}' here. ${hint}${more}`, {
    data: { definition: name },
  })
}
