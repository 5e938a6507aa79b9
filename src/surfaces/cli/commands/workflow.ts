/** `nerve workflow list` and `nerve workflow run`: what can be run here, by name. */
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { NerveError } from '../../../base/nerve-error.ts'
import { nearest } from '../../../base/nearest.ts'
import type { RunRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { brief, oneLine } from '../printable.ts'
import { newestRuns, withRuns } from '../project.ts'
import { loadDefinition, projectDefinitions, type ProjectDefinition } from '../project-definitions.ts'
import { WORKFLOWS } from '../project-folder.ts'
import { columnsOf, padded } from '../style.ts'
import { firstIn, start, type Target } from './run.ts'

/** So far back runs are looked at for files that they came from. */
const RUNS = 500

interface Known extends Omit<ProjectDefinition, 'kind'> {
  /** Missing for what is only known because it ran. */
  readonly kind?: string
  readonly runs: number
  readonly last?: { readonly run: string; readonly status: string; readonly created: number }
}

export async function run(invocation: Invocation): Promise<number> {
  if (invocation.command === 'workflow run') return start(invocation, () => found(invocation))
  const { out, dir } = invocation
  const { all: definitions, problems } = await projectDefinitions(invocation)
  const all = known(definitions, await lately(dir))
  out.data({ definitions: all, problems })
  if (all.length === 0) out.line(`Nothing is known in ${dir}. Put a file into ${WORKFLOWS}, or: nerve run FILE`)
  const names = Math.max(4, ...all.map(({ name }) => columnsOf(brief(name, 30))))
  for (const { name, kind = '', source, runs, last } of all) {
    const where = source === undefined ? 'nerve.config' : relative(dir, source)
    const ran = last === undefined ? 'never ran' : `${runs} ${runs === 1 ? 'run' : 'runs'}, last ${last.status}`
    out.line(`${padded(brief(name, 30), names)}  ${kind.padEnd(8)}  ${oneLine(where)}  ${out.tone(ran, 'dim')}`)
  }
  for (const { source, message } of problems) out.line(out.tone(`${relative(dir, source)}: ${oneLine(message)}`, 'bad'))
  return EXIT.done
}

function lately(dir: string): Promise<readonly RunRow[]> {
  return withRuns<readonly RunRow[]>(
    dir,
    (host) => newestRuns(host, RUNS),
    () => [],
  )
}

/** What is defined, and what ran from a file that is still there. */
function known(definitions: readonly ProjectDefinition[], runs: readonly RunRow[]): readonly Known[] {
  const all = new Map<string, Known>(definitions.map((one) => [one.name, { ...one, runs: 0 }]))
  for (const { run: id, definition: name, source, status, created } of runs) {
    if (!all.has(name) && (source === undefined || !existsSync(source))) continue
    const before = all.get(name) ?? { name, runs: 0, ...(source === undefined ? {} : { source }) }
    all.set(name, { ...before, runs: before.runs + 1, last: before.last ?? { run: id, status, created } })
  }
  return [...all.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** By name; else the file of that name. */
async function found(invocation: Invocation): Promise<Target> {
  const { args, cwd, dir } = invocation
  const [wanted = ''] = args.words
  const { all: definitions } = await projectDefinitions(invocation)
  const defined = definitions.find(({ name }) => name === wanted)
  const all = defined === undefined ? known(definitions, await lately(dir)) : []
  const meant = defined ?? all.find(({ name }) => name === wanted)
  if (meant !== undefined) {
    const { name, source } = meant
    const load = () => loadDefinition(invocation, meant)
    return { name, ...(source === undefined ? {} : { file: source }), load }
  }
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
