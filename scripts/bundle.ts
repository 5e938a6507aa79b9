/**
 * The JavaScript of the package: the doors and few files behind them, because a process that starts pays for each file it
 * loads. Types are `tsc`'s work.
 *
 *     node scripts/bundle.ts [folder]
 *
 * What `src/index.ts` reaches without `import()` is one file, shared by all doors, so that a class is the same one whichever
 * door it came through. What is imported when it is wanted stays in files of its own. Nothing is renamed.
 */
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown, type InputOptions, type OutputOptions } from 'rolldown'
import { DOORS } from './package-doors.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const MAIN = join(ROOT, 'src', 'index.ts')

const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>
}
const PEERS = Object.keys(peerDependencies)

const COMMAND = 'surfaces/cli/main'

const ENTRIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(DOORS.map(({ source, built }) => [built.replace(/^dist\/|\.js$/g, ''), join(ROOT, source)])),
  [COMMAND]: join(ROOT, 'src', 'surfaces', 'cli', 'main.ts'),
}

const INPUT: InputOptions = {
  cwd: ROOT,
  platform: 'node',
  // `nerve` in a program that is built with the package is the package.
  resolve: { conditionNames: ['nerve-source', 'node', 'import', 'default'] },
  // Optional peers: who needs one installs it.
  external: PEERS.flatMap((peer) => [peer, new RegExp(`^${peer}/`)]),
}

type Graph = { getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null }

/** The modules that loading this one loads. */
function loadedWith(id: string, graph: Graph, found = new Set<string>()): Set<string> {
  if (found.has(id)) return found
  found.add(id)
  for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) loadedWith(imported, graph, found)
  return found
}

function output(folder: string): OutputOptions {
  let core: Set<string> | undefined
  return {
    dir: folder,
    format: 'es',
    sourcemap: true,
    sourcemapExcludeSources: true,
    minifyInternalExports: false,
    // The sources are in the package, with their comments: here they would be read over at each start.
    comments: { jsdoc: false },
    // One folder down, as the rooms are in src: host/definition-file.ts finds package.json from there.
    chunkFileNames: 'chunks/[name].js',
    codeSplitting: {
      groups: [
        {
          debugName: 'core',
          name: (id, graph) => {
            core ??= loadedWith(MAIN, graph)
            return core.has(id) ? 'core' : null
          },
        },
      ],
    },
  }
}

/** What browsers load: one file, which shares nothing with the others, because those need Node. */
const BROWSER: InputOptions = {
  cwd: ROOT,
  platform: 'browser',
  input: { client: join(ROOT, 'src', 'surfaces', 'client', 'http-client.ts') },
}

/** Writes the JavaScript of the package into a folder; `programs` are further files that share it, each under its name. */
export async function bundle(folder: string, programs: Readonly<Record<string, string>> = {}): Promise<void> {
  await write({ ...INPUT, input: { ...ENTRIES, ...programs } }, output(folder))
  // npm does so where it installs it. A project that uses a clone links to it, and the clone is built again.
  chmodSync(join(folder, `${COMMAND}.js`), 0o755)
  await write(BROWSER, { dir: join(folder, 'browser'), format: 'es', codeSplitting: false })
}

async function write(input: InputOptions, to: OutputOptions): Promise<void> {
  const build = await rolldown(input)
  try {
    await build.write(to)
  } finally {
    await build.close()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle(process.argv[2] ?? join(ROOT, 'dist'))
