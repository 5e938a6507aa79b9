/** `nerve workflow list` and `nerve workflow run`: what can be run here, by name. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { NerveError, errorData } from '../../../base/nerve-error.ts'
import { nearest } from '../../../base/nearest.ts'
import { loadDefinitions, type AnyDefinition, type RunRow } from '../../../host/api.ts'
import { demandTrust } from '../../../host/config/trust.ts'
import { definitionFiles, definitionsIn, isDefinition, type LoadedFile } from '../../../host/file-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { brief, oneLine } from '../printable.ts'
import { newestRuns, projectConfig, withRuns } from '../project.ts'
import { columnsOf, padded } from '../style.ts'
import { trustQuestion } from '../trust-question.ts'
import { firstIn, start, type Target } from './run.ts'

const FOLDER = 'workflows'
/** So far back runs are looked at for files that they came from. */
const RUNS = 500

interface Known {
  readonly name: string
  readonly kind?: string
  readonly description?: string
  readonly source?: string
  readonly runs: number
  readonly last?: { readonly run: string; readonly status: string; readonly created: number }
}

interface Sources {
  /** Made in nerve.config.ts. */
  readonly planned: readonly AnyDefinition[]
  readonly files: readonly LoadedFile[]
  readonly problems: readonly { readonly source: string; readonly message: string }[]
  readonly runs: readonly RunRow[]
}

export async function run(invocation: Invocation): Promise<number> {
  if (invocation.command === 'workflow run') return start(invocation, () => found(invocation))
  const { out, dir } = invocation
  const sources = await look(invocation)
  const all = known(sources)
  out.data({ definitions: all, problems: sources.problems })
  if (all.length === 0) out.line(`Nothing is known in ${dir}. Put a file into ${FOLDER}, or: nerve run FILE`)
  const names = Math.max(4, ...all.map(({ name }) => columnsOf(brief(name, 30))))
  for (const { name, kind = '', source, runs, last } of all) {
    const where = source === undefined ? 'nerve.config' : relative(dir, source)
    const ran = last === undefined ? 'never ran' : `${runs} ${runs === 1 ? 'run' : 'runs'}, last ${last.status}`
    out.line(`${padded(brief(name, 30), names)}  ${kind.padEnd(8)}  ${oneLine(where)}  ${out.tone(ran, 'dim')}`)
  }
  for (const { source, message } of sources.problems)
    out.line(out.tone(`${relative(dir, source)}: ${oneLine(message)}`, 'bad'))
  return EXIT.done
}

async function look({ out, dir }: Invocation): Promise<Sources> {
  const config = await projectConfig(dir, out)
  const planned = (config?.definitions ?? []).filter((one) => isDefinition(one))
  const folder = join(dir, FOLDER)
  const sources = existsSync(folder) ? await definitionFiles(folder) : []
  if (sources.length > 0) await demandTrust(dir, folder, { ask: trustQuestion(out) })
  const loaded = await definitionsIn(sources)
  const files = loaded.filter(({ problem }) => problem === undefined)
  const problems = loaded.flatMap(({ source, problem }) =>
    problem === undefined ? [] : [{ source, message: errorData(problem).message }],
  )
  const runs = await withRuns<RunRow[]>(
    dir,
    (host) => newestRuns(host, RUNS),
    () => [],
  )
  return { planned, files, problems, runs }
}

function known({ planned, files, runs }: Sources): readonly Known[] {
  const all = new Map<string, Known>()
  const add = ({ name, kind, options: { description } }: AnyDefinition, source?: string): void => {
    const more = { ...(description === undefined ? {} : { description }), ...(source === undefined ? {} : { source }) }
    if (!all.has(name)) all.set(name, { name, kind, runs: 0, ...more })
  }
  for (const definition of planned) add(definition)
  for (const { source, definitions } of files) for (const definition of definitions) add(definition, source)
  for (const { run: id, definition: name, source, status, created } of runs) {
    if (!all.has(name) && (source === undefined || !existsSync(source))) continue
    const before = all.get(name) ?? { name, runs: 0, ...(source === undefined ? {} : { source }) }
    all.set(name, { ...before, runs: before.runs + 1, last: before.last ?? { run: id, status, created } })
  }
  return [...all.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** By name; else the file of that name. */
async function found(invocation: Invocation): Promise<Target> {
  const { args, cwd } = invocation
  const [wanted = ''] = args.words
  const sources = await look(invocation)
  const definition = sources.planned.find(({ name }) => name === wanted)
  if (definition !== undefined) return { name: wanted, load: () => Promise.resolve(definition) }
  const all = known(sources)
  const { source } = all.find(({ name }) => name === wanted) ?? {}
  if (source !== undefined) return { name: wanted, file: source, load: () => inFile(source, wanted) }
  if (existsSync(resolve(cwd, wanted))) return firstIn(resolve(cwd, wanted))
  const near = nearest(
    wanted,
    all.map(({ name }) => name),
  )
  const hint = near === undefined ? 'See: nerve workflow list' : `Did you mean '${near}'?`
  throw new NerveError('not-found', `There is no definition '${wanted}' here. ${hint}`, {
    data: { definition: wanted },
  })
}

async function inFile(source: string, wanted: string): Promise<AnyDefinition> {
  const definition = (await loadDefinitions(source)).find(({ name }) => name === wanted)
  if (definition !== undefined) return definition
  throw new NerveError('not-found', `${source} no longer has '${wanted}'.`, { data: { definition: wanted } })
}
