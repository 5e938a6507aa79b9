/**
 * Definitions that came as data: specs, checked and registered by name. Each is a file of the project, so that a run of it
 * is taken up by the next host. Owns those files, and knows nothing of definitions that code registered.
 */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { NerveError } from '../../base/nerve-error.ts'
import type { SpecGraph } from '../../define/spec/read-spec.ts'
import type { SpecProblem } from '../../define/spec/spec-text.ts'
import { recursionIn } from '../../engine/recursion.ts'
import { OPEN } from '../../projections/runs.ts'
import type { Host } from '../host.ts'
import { namedIn } from '../named-in.ts'
import { createdFile, createdFolder, registerCreated, type FileProblem } from './created-definitions.ts'

type Data = Readonly<Record<string, unknown>>

export type CheckedSpec =
  | { readonly graph: SpecGraph; readonly problems: readonly []; readonly unchecked: readonly string[] }
  | { readonly graph?: undefined; readonly problems: readonly SpecProblem[] }

export class Specs {
  readonly #host: Host
  readonly #onProblem: (error: unknown) => void
  /** What is registered from here, with its file; a host without a folder has no files. */
  readonly #known = new Map<string, string | undefined>()
  #problems: readonly FileProblem[] = []
  #reading: Promise<void> | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(host: Host, onProblem: (error: unknown) => void) {
    this.#host = host
    this.#onProblem = onProblem
  }

  /** Resolves when those that an earlier host kept are registered. */
  ready(): Promise<void> {
    this.#reading ??= this.#read()
    return this.#reading
  }

  /** What an earlier host kept, and cannot be read. */
  get problems(): readonly FileProblem[] {
    return this.#problems
  }

  has(name: string): boolean {
    return this.#known.has(name)
  }

  /** Where a run of it finds it again; undefined for what is not from here. */
  sourceOf(name: string): string | undefined {
    return this.#known.get(name)
  }

  /** Everything that is wrong with a spec. Names that the host does not know yet are told of: they may come later. */
  async check(data: Data): Promise<CheckedSpec> {
    await this.ready()
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
    const { names } = this.#host.registry
    // By itself it is sound; with what is known here it may close a cycle.
    const cycles = recursionIn(read.graph, names).map((message) => ({ path: ['steps'], message }))
    if (files.length + cycles.length > 0) return { problems: [...files, ...cycles] }
    return {
      graph: read.graph,
      problems: [],
      unchecked: [...namedIn(read.graph)].filter((name) => names.get(name) === undefined),
    }
  }

  /** Registers it, also in the place of one that was created here before. `demandFree` refuses a name that is in use elsewhere. */
  create(
    data: Data,
    demandFree: (name: string) => Promise<void>,
  ): Promise<{ readonly definition: string; readonly unchecked: readonly string[] }> {
    return this.#inTurn(async () => {
      const { graph, unchecked } = await this.#sound(data)
      await demandFree(graph.name)
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
      return { definition: graph.name, unchecked }
    })
  }

  async #sound(data: Data): Promise<Extract<CheckedSpec, { readonly graph: SpecGraph }>> {
    const checked = await this.check(data)
    if (checked.graph !== undefined) return checked
    const { specError } = await import('../../define/spec/spec.ts')
    throw specError('bad-definition', checked.problems)
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
    const { sources, problems } = await registerCreated(this.#host)
    for (const [name, file] of sources) this.#known.set(name, file)
    this.#problems = problems
    for (const { problem } of problems) this.#onProblem(problem)
  }

  async #write(name: string, data: Data): Promise<string | undefined> {
    const { dir } = this.#host
    if (dir === undefined) return undefined
    await mkdir(createdFolder(dir), { recursive: true, mode: 0o700 })
    const file = createdFile(dir, name)
    const draft = `${file}.tmp`
    await writeFile(draft, `${JSON.stringify(data, undefined, 2)}\n`, { mode: 0o600, flush: true })
    await rename(draft, file)
    return file
  }

  /** One change after the other. Who asked for the one before heard how it went. */
  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    await this.ready()
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}
