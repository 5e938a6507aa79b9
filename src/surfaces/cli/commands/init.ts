/** `nerve init`: writes what a project needs, and never over what is there. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { NerveError } from '../../../base/nerve-error.ts'
import { isMadeHere, makeOwnFolder } from '../../../base/own-folder.ts'
import { configFile } from '../../../host/api.ts'
import {
  AGENT,
  HINTS,
  PACKAGE,
  SPEC,
  configTemplate,
  helloTemplate,
  schemaFiles,
  type CodeEnding,
  type ProjectFile,
} from '../../../host/project-template.ts'
import { asCalled } from '../as-called.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import type { Output } from '../output.ts'
import { oneLine } from '../printable.ts'

interface Made {
  readonly dir: string
  readonly created: readonly string[]
  /** There already, and not touched. */
  readonly kept: readonly string[]
  readonly next: readonly (readonly [command: string, meaning: string])[]
}

export async function run({ args, out, cwd }: Invocation): Promise<number> {
  // Here, and not in the project around it: a new project may be inside another one.
  const dir = resolve(cwd, args.words[0] ?? args.text('dir') ?? '.')
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new NerveError('bad-file', `${dir} is a file. Give a folder: nerve init FOLDER`)
  const made = await make(dir)
  const { created, kept, next } = made
  out.data({ dir, created, kept, next: next.map(([command]) => command) })
  show(out, made, cwd)
  return EXIT.done
}

async function make(dir: string): Promise<Made> {
  const ending = endingFor(dir)
  const given = configFile(dir)
  const config = configTemplate(ending ?? 'ts')
  const hello = helloTemplate(ending ?? 'ts')
  // The example of a spec uses a node of our project file: in one of somebody else's it would not run.
  const ours = given === undefined || readFileSync(given, 'utf8') === config.text
  const wanted = [...(ending === undefined ? [PACKAGE] : []), ...(given === undefined ? [config] : [])]
  const files = [...wanted, hello, ...(ours ? [SPEC] : []), AGENT, HINTS]
  // Only what is written here may run from now on without being named.
  const alone = given === undefined && !existsSync(join(dir, dirname(hello.path))) && hasOwnRecords(dir)
  const created = files.filter((file) => write(dir, file)).map(({ path }) => path)
  const kept = files.map(({ path }) => path).filter((path) => !created.includes(path))
  makeOwnFolder(join(dir, '.nerve'))
  for (const file of schemaFiles()) write(dir, file, 'w')
  const { isTrusted, trustFolder } = await import('../../../host/node-api.ts')
  if (alone) trustFolder(dir)
  return {
    dir,
    created,
    kept: given === undefined ? kept : [basename(given), ...kept],
    next: [
      ...(isTrusted(dir)
        ? []
        : ([['nerve trust', 'after a look: there was code here before, and it would run too']] as const)),
      [`nerve run ${hello.path} --input Ada`, 'a workflow that asks you something'],
      ...(ours
        ? ([
            [`nerve run ${SPEC.path}`, 'the same kind of thing as data'],
            ['nerve node execute greet', 'a node of the project'],
          ] as const)
        : []),
      ['nerve workflow list', 'what can be run here'],
    ],
  }
}

/** What is recorded here was recorded here: by runs of this user. */
function hasOwnRecords(dir: string): boolean {
  const folder = join(dir, '.nerve')
  return !existsSync(folder) || isMadeHere(folder)
}

/** Code is loaded as it is, so it has to be called what the package around it takes for a module; none is around it: undefined. */
function endingFor(dir: string): CodeEnding | undefined {
  for (let at = dir; ; at = dirname(at)) {
    const file = join(at, 'package.json')
    if (existsSync(file)) return typeOf(file) === 'module' ? 'ts' : 'mts'
    if (dirname(at) === at) return undefined
  }
}

function typeOf(file: string): unknown {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { type?: unknown } | null)?.type
  } catch (cause) {
    throw new NerveError('bad-file', `${file} could not be read: ${(cause as Error).message}`, { cause })
  }
}

/** False when something of that name is there. */
function write(dir: string, { path, text }: ProjectFile, flag: 'w' | 'wx' = 'wx'): boolean {
  const file = join(dir, path)
  try {
    // What is in .nerve is for nobody else.
    mkdirSync(dirname(file), { recursive: true, ...(path.startsWith('.nerve/') ? { mode: 0o700 } : {}) })
    writeFileSync(file, text, { flag })
    return true
  } catch (cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException
    // A file where the folder should be is another thing.
    if (flag === 'wx' && code === 'EEXIST' && syscall === 'open') return false
    throw new NerveError('bad-file', `${file} could not be written: ${(cause as Error).message}`, { cause })
  }
}

function show(out: Output, { dir, created, kept, next }: Made, cwd: string): void {
  for (const path of created) out.line(`${out.tone('+', 'good')} ${path}`)
  for (const path of kept) out.line(out.tone(`= ${path}  was there, and is as it was`, 'dim'))
  if (kept.includes(HINTS.path))
    out.line(`  For agents, add to ${HINTS.path}: see \`nerve help --json\` and \`nerve workflow list\`.`)
  const where = relative(cwd, dir)
  out.line()
  out.line('Next:')
  if (where !== '') out.line(out.tone(`  cd ${oneLine(where)}`, 'bold'))
  for (const [command, meaning] of next) {
    out.line(out.tone(`  ${asCalled(command)}`, 'bold'))
    out.line(out.tone(`      ${meaning}`, 'dim'))
  }
}
