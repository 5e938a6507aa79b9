/** What the project has that a command line can name: runs, questions, nodes, sessions, definitions, files. Changes nothing. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import { isNerveError } from '../../base/nerve-error.ts'
import type { InboxRow, RunRow } from '../../host/api.ts'
import type { CatalogEntry } from '../../host/node-api.ts'
import type { Place, Suggestion, Values } from './completion-words.ts'
import { brief } from './printable.ts'
import { projectFolder } from './project-folder.ts'
import type { RunHost } from './run-host.ts'

const MOST_RUNS = 30
const DEFINITIONS: readonly string[] = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.yaml', '.yml', '.json']
/** Commands whose FILE is no definition. */
const ANY_FILE: readonly string[] = ['import', 'extract']

export function projectValues(cwd: string): Values {
  return async (place) => {
    const kind = kindOf(place)
    const dir = projectFolder(cwd, place.dir)
    return kind === undefined ? [] : KINDS[kind]({ ...place, cwd, project: dir })
  }
}

interface Asked extends Place {
  readonly cwd: string
  readonly project: string
}

type Kind = keyof typeof KINDS

function kindOf({ word, option, command }: Place): Kind | undefined {
  if (word === 'FILE') return option === undefined && !ANY_FILE.includes(command) ? 'definitionFiles' : 'files'
  if (word === 'FOLDER' || word === 'DIR') return 'folders'
  if (word === 'RUN') return 'runs'
  if (word === 'QUESTION') return 'questions'
  if (word === 'VALUE') return 'choices'
  if (word === 'PATH') return 'paths'
  if (word === 'DEFINITION') return 'definitions'
  if (word !== 'NAME') return undefined
  if (command === 'call') return 'contract'
  if (option === 'session' || command.startsWith('session ')) return 'sessions'
  if (command === 'signal') return 'signals'
  if (command.startsWith('token ') && command !== 'token create') return 'tokens'
  return command.startsWith('node ') && command !== 'node create' ? 'nodes' : undefined
}

const definitionFiles = async ({ cwd, current }: Asked) =>
  filesFor(cwd, current, (name) => DEFINITIONS.includes(extname(name)) && !/\.d\.[mc]?ts$/.test(name))

const KINDS = {
  contract: async () => {
    const { contract } = await import('../../host/contract/contract.ts')
    return Object.entries(contract).map(([value, { summary }]) => ({ value, about: summary }))
  },
  definitionFiles,
  files: async ({ cwd, current }: Asked) => filesFor(cwd, current, () => true),
  folders: async ({ cwd, current }: Asked) => filesFor(cwd, current, () => false),
  runs: ({ project }: Asked) =>
    inRuns(project, async (host) => {
      const { newestRuns } = await import('./project.ts')
      const rows = await newestRuns(host, MOST_RUNS)
      return [...(rows.length === 0 ? [] : [{ value: 'last', about: 'the newest run' }]), ...rows.map(ofRun)]
    }),
  questions: ({ project }: Asked) =>
    inRuns(project, async (host) => {
      const open = await host.inbox()
      const newest = open.at(-1)
      return [
        ...(newest === undefined ? [] : [{ value: 'last', about: brief(newest.prompt, 60) }]),
        ...open.map(({ id, prompt, definition }) => ({ value: id, about: `${definition}: ${brief(prompt, 60)}` })),
      ]
    }),
  choices: ({ project, words: [wanted = ''] }: Asked) =>
    inRuns(project, async (host) => {
      const { choices = [] } = questionOf(await host.inbox(), wanted) ?? {}
      return choices.map((value) => ({ value }))
    }),
  signals: ({ project, words }: Asked) =>
    inRuns(project, async (host) => ((await runOf(host, words))?.signals ?? []).map((value) => ({ value }))),
  paths: ({ project, words }: Asked) =>
    inRuns(project, async (host) => {
      const row = await runOf(host, words)
      const entries = row === undefined ? [] : await host.journal(row.run)
      const paths = entries.flatMap(({ event }) => ('path' in event && event.path !== undefined ? [event.path] : []))
      return [...new Set(paths)].map((value) => ({ value }))
    }),
  nodes: async ({ project }: Asked) =>
    (await catalog(project)).map(({ name, kind, session }) => ({ value: name, about: `${kind} in ${session}` })),
  sessions: async ({ project }: Asked) =>
    [...new Set((await catalog(project)).map(({ session }) => session))].map((value) => ({ value })),
  tokens: async ({ project }: Asked) => {
    const { openTokens, tokensFile } = await import('../server/tokens.ts')
    const file = tokensFile(project)
    // Opening it would make it.
    if (!existsSync(file)) return []
    return openTokens(file)
      .list()
      .map(({ name, scope }) => ({ value: name, about: scope }))
  },
  definitions: async (asked: Asked) => {
    const runs = await inRuns(asked.project, (host) => host.runs({ limit: 200 }))
    const names = new Set(runs.filter(({ source }) => source !== undefined).map(({ definition }) => definition))
    const planned = (await catalog(asked.project)).filter(({ type }) => type === 'definition')
    const { createdNames } = await import('../../host/contract/created-definitions.ts')
    for (const name of [...planned.map((one) => one.name), ...createdNames(asked.project)]) names.add(name)
    return [...[...names].map((value) => ({ value })), ...(await definitionFiles(asked))]
  },
} satisfies Readonly<Record<string, (asked: Asked) => Promise<readonly Suggestion[]>>>

function ofRun({ run, definition, status }: RunRow): Suggestion {
  return { value: run, about: `${brief(definition, 30)} ${status}` }
}

function questionOf(open: readonly InboxRow[], wanted: string): InboxRow | undefined {
  return wanted === 'last' ? open.at(-1) : open.find(({ id }) => id.startsWith(wanted))
}

async function runOf(host: RunHost, [wanted = '']: readonly string[]): Promise<RunRow | undefined> {
  const { newestRuns } = await import('./project.ts')
  if (wanted === 'last') return (await newestRuns(host, 1))[0]
  try {
    return await host.run(wanted)
  } catch (error) {
    if (isNerveError(error, 'not-found')) return undefined
    throw error
  }
}

async function inRuns<Value>(
  dir: string,
  work: (host: RunHost) => Promise<readonly Value[]>,
): Promise<readonly Value[]> {
  const { withRuns } = await import('./project.ts')
  return withRuns<readonly Value[]>(dir, work, () => [])
}

/** A project file that nobody has trusted is not run because somebody pressed a key; what is recorded is there without it. */
async function catalog(dir: string): Promise<readonly CatalogEntry[]> {
  const { loadConfig, sessionCatalog } = await import('../../host/node-api.ts')
  try {
    return await sessionCatalog(dir, (await loadConfig(dir))?.sessions ?? [])
  } catch (error) {
    if (!isNerveError(error, 'not-trusted')) throw error
    return sessionCatalog(dir, [])
  }
}

/** Names in the folder that is being typed. Folders end with a slash; hidden names only when their dot is typed. */
function filesFor(cwd: string, current: string, wanted: (name: string) => boolean): readonly Suggestion[] {
  const typed = current.slice(0, current.lastIndexOf('/') + 1)
  const last = current.slice(typed.length)
  let entries
  try {
    entries = readdirSync(typed === '' ? cwd : resolve(cwd, join(dirname(`${typed}.`), '.')), { withFileTypes: true })
  } catch {
    // There is no such folder, or it cannot be read: nothing completes it.
    return []
  }
  return entries
    .filter(({ name }) => name.startsWith(last) && name !== 'node_modules' && (last !== '' || !name.startsWith('.')))
    .filter((entry) => entry.isDirectory() || wanted(entry.name))
    .map((entry) => ({ value: `${typed}${entry.name}${entry.isDirectory() ? '/' : ''}` }))
    .toSorted((a, b) => (a.value < b.value ? -1 : 1))
}
