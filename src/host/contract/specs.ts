/**
 * Definitions that came as data: specs, checked and registered by name. Each is a file of the project, so that a run of it
 * is taken up by the next host. Owns that folder, and knows nothing of definitions that code registered.
 */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { contentHash } from '../../base/value.ts'
import type { SpecGraph } from '../../define/spec/read-spec.ts'
import type { SpecProblem } from '../../define/spec/spec-text.ts'
import type { Host } from '../host.ts'
import { namedIn } from '../named-in.ts'

const ENDING = '.json'
const OPEN = ['queued', 'running', 'waiting', 'paused', 'exhausted'] as const

type Data = Readonly<Record<string, unknown>>

export type CheckedSpec =
  | { readonly graph: SpecGraph; readonly problems: readonly []; readonly unchecked: readonly string[] }
  | { readonly graph?: undefined; readonly problems: readonly SpecProblem[] }

export class Specs {
  readonly #host: Host
  readonly #folder: string | undefined
  readonly #onProblem: (error: unknown) => void
  /** What is registered from here, with its file; a host without a folder has no files. */
  readonly #known = new Map<string, string | undefined>()
  #reading: Promise<void> | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(host: Host, onProblem: (error: unknown) => void) {
    this.#host = host
    this.#folder = host.dir === undefined ? undefined : join(host.dir, '.nerve', 'definitions')
    this.#onProblem = onProblem
  }

  /** Resolves when those that an earlier host kept are registered. */
  ready(): Promise<void> {
    this.#reading ??= this.#read()
    return this.#reading
  }

  /** Where a run of it finds it again; undefined for what is not from here. */
  sourceOf(name: string): string | undefined {
    return this.#known.get(name)
  }

  /** Everything that is wrong with a spec. Names that the host does not know yet are told of: they may come later. */
  async check(data: Data): Promise<CheckedSpec> {
    const [{ readSpec }, { FORMS }, { located }] = await Promise.all([
      import('../../define/spec/read-spec.ts'),
      import('../../define/spec/forms.ts'),
      import('../../define/spec/spec.ts'),
    ])
    const { nodes, ...rest } = data
    const read = readSpec(rest, { forms: FORMS })
    const files: readonly SpecProblem[] =
      nodes === undefined
        ? []
        : [{ path: ['nodes'], message: 'names files, and this spec is in none: register the nodes with the host.' }]
    if (!('graph' in read)) return { problems: [...files, ...located(rest, read.problems)] }
    if (files.length > 0) return { problems: files }
    const { names } = this.#host.registry
    return {
      graph: read.graph,
      problems: [],
      unchecked: [...namedIn(read.graph)].filter((name) => names.get(name) === undefined),
    }
  }

  /** Registers it, also in the place of one that was created here before. */
  async create(data: Data): Promise<{ readonly definition: string; readonly unchecked: readonly string[] }> {
    const checked = await this.check(data)
    if (checked.graph === undefined) {
      const { specError } = await import('../../define/spec/spec.ts')
      throw specError('bad-definition', checked.problems)
    }
    const { graph, unchecked } = checked
    await this.#inTurn(async () => {
      const { registry } = this.#host
      const before = registry.names.get(graph.name)
      if (this.#known.has(graph.name)) registry.replace(graph)
      else registry.add(graph)
      try {
        this.#known.set(graph.name, await this.#write(graph.name, data))
      } catch (error) {
        if (before === undefined) registry.remove(graph.name)
        else registry.replace(before)
        throw error
      }
    })
    return { definition: graph.name, unchecked }
  }

  async remove(name: string): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.#known.has(name))
        throw new NerveError(
          'bad-option',
          `'${name}' was not made by definitions.create: take it out of the code that registers it.`,
        )
      const open = await this.#host.runs({ definition: name, status: OPEN, children: true })
      if (open.length > 0)
        throw new NerveError(
          'not-ready',
          `${open.length} ${open.length === 1 ? 'run' : 'runs'} of '${name}' could not go on without it, such as ${open[0]?.run}. Wait for them, or cancel them.`,
          { data: { definition: name, runs: open.map(({ run }) => run) } },
        )
      const file = this.#known.get(name)
      if (file !== undefined) await rm(file, { force: true })
      this.#known.delete(name)
      this.#host.registry.remove(name)
    })
  }

  async #read(): Promise<void> {
    if (this.#folder === undefined) return
    for (const file of await filesIn(this.#folder)) {
      try {
        const { loadRunnables } = await import('../definition-file.ts')
        for (const one of await loadRunnables(file)) {
          // A run that was taken up may have brought it already.
          this.#host.registry.replace(one)
          if ('name' in one) this.#known.set(one.name, file)
        }
      } catch (error) {
        // One that cannot be read must not hide the others.
        this.#onProblem(error)
      }
    }
  }

  async #write(name: string, data: Data): Promise<string | undefined> {
    if (this.#folder === undefined) return undefined
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const file = join(this.#folder, fileName(name))
    const draft = `${file}.tmp`
    await writeFile(draft, `${JSON.stringify(data, undefined, 2)}\n`, { mode: 0o600, flush: true })
    await rename(draft, file)
    return file
  }

  /** One change after the other. Who asked for the one before heard how it went. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    await this.ready()
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    await done
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    const files = await readdir(folder)
    return files.filter((file) => file.endsWith(ENDING)).map((file) => join(folder, file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Names may have letters that file names may not, and some file systems do not tell capitals apart. */
function fileName(name: string): string {
  return `${name.replaceAll(/[^\w-]+/g, '-').slice(0, 60)}-${contentHash(name).slice(0, 8)}${ENDING}`
}
