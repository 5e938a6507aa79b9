/**
 * What can be run in a project by name: as the daemon knows it when one runs; else as the project file, the definitions that
 * came as data and the folder for workflows say, in this order.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { NerveError, errorData } from '../../base/nerve-error.ts'
import { loadDefinitions, type AnyDefinition } from '../../host/api.ts'
import { demandOwnRecords } from '../../host/config/records.ts'
import { demandTrust } from '../../host/config/trust.ts'
import { createdFiles } from '../../host/contract/created-definitions.ts'
import { definitionFiles, definitionsIn, isDefinition } from '../../host/file-api.ts'
import type { Invocation } from './dispatch.ts'
import { daemonOf, projectConfig } from './project.ts'
import { WORKFLOWS } from './project-folder.ts'
import type { DaemonHost } from './run-host.ts'
import { trustQuestion } from './trust-question.ts'

export interface ProjectDefinition {
  readonly name: string
  readonly kind: string
  readonly description?: string | undefined
  /** The file that it is in; what nerve.config.ts makes is in none. */
  readonly source?: string | undefined
}

export interface ProjectDefinitions {
  readonly all: readonly ProjectDefinition[]
  /** Files that could not be loaded. */
  readonly problems: readonly { readonly source: string; readonly message: string }[]
}

export async function projectDefinitions(invocation: Invocation): Promise<ProjectDefinitions> {
  const daemon = await daemonOf(invocation.dir)
  try {
    return await (daemon === undefined ? lookHere(invocation) : lookThere(invocation, daemon))
  } finally {
    await daemon?.close()
  }
}

async function lookHere(invocation: Invocation): Promise<ProjectDefinitions> {
  const { out, dir } = invocation
  const planned = await plannedHere(invocation)
  const files = await trustedFiles(invocation)
  const created = createdFiles(dir)
  if (created.length > 0) await demandOwnRecords(dir, { ask: trustQuestion(out) })
  return inFiles(planned, [...created, ...files])
}

/** Trust is asked for here: the daemon has nobody to ask. */
async function lookThere(invocation: Invocation, host: DaemonHost): Promise<ProjectDefinitions> {
  const { tellOfConfig } = await import('./project-daemon.ts')
  tellOfConfig(host, invocation.dir)
  await trustedFiles(invocation)
  const { client } = host.daemon
  return { all: await client.call('definitions.list', {}), problems: await client.call('definitions.problems', {}) }
}

async function trustedFiles({ out, dir }: Invocation): Promise<readonly string[]> {
  const folder = join(dir, WORKFLOWS)
  const files = existsSync(folder) ? await definitionFiles(folder) : []
  if (files.length > 0) await demandTrust(dir, folder, { ask: trustQuestion(out) })
  return files
}

/** Loads it into this process. */
export async function loadDefinition(
  invocation: Invocation,
  { name, source }: Pick<ProjectDefinition, 'name' | 'source'>,
): Promise<AnyDefinition> {
  const among = source === undefined ? await plannedHere(invocation) : await loadDefinitions(source)
  const found = among.find((definition) => definition.name === name)
  if (found !== undefined) return found
  throw new NerveError('not-found', `${source ?? 'nerve.config'} no longer has '${name}'.`, {
    data: { definition: name },
  })
}

async function inFiles(planned: readonly AnyDefinition[], files: readonly string[]): Promise<ProjectDefinitions> {
  const all = new Map<string, ProjectDefinition>()
  const add = ({ name, kind, options: { description } }: AnyDefinition, source?: string): void => {
    if (!all.has(name)) all.set(name, { name, kind, description, source })
  }
  for (const definition of planned) add(definition)
  const loaded = await definitionsIn(files)
  for (const { source, definitions } of loaded) for (const definition of definitions) add(definition, source)
  const problems = loaded.flatMap(({ source, problem }) =>
    problem === undefined ? [] : [{ source, message: errorData(problem).message }],
  )
  return { all: [...all.values()], problems }
}

async function plannedHere({ out, dir }: Invocation): Promise<readonly AnyDefinition[]> {
  const config = await projectConfig(dir, out)
  return (config?.definitions ?? []).filter((one) => isDefinition(one))
}
