/**
 * Sandboxes for commands and agents. `bwrap` is a namespace of its own: the file system can be read but not written, except for the
 * paths that are named; the places where keys and logins usually are cannot be seen; other processes cannot be seen, in /proc or
 * otherwise; there is no network unless it is asked for. A sandbox that cannot be made is an error: nothing is ever run without
 * the one that was asked for.
 */
import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { checkKnown } from '../base/check-known.ts'
import { NerveError } from '../base/nerve-error.ts'
import { noFolder } from './process.ts'
import { programOnPath } from './program-on-path.ts'
import { secretPlaces } from './secret-places.ts'

/** Paths are from the cwd. Of two that lie in each other, the inner one says what holds there. */
export interface BwrapSandbox {
  readonly level: 'bwrap'
  /** Paths that the command may write to (default none; /tmp is always an empty one of its own). */
  readonly writable?: readonly string[]
  /** Paths that it cannot see, beside the usual places of keys and logins. */
  readonly hidden?: readonly string[]
  /** Paths that it can see but not write, though they lie in something that is hidden or writable. */
  readonly readable?: readonly string[]
  /** True to leave the network on (default false). */
  readonly network?: boolean
}

export type Sandbox = 'none' | BwrapSandbox

export interface Wrapped {
  readonly file: string
  readonly args: readonly string[]
}

const LISTS = ['writable', 'hidden', 'readable'] as const

export function checkSandbox(what: string, sandbox: Sandbox): void {
  if (sandbox === 'none') return
  const known = typeof sandbox === 'object' && sandbox !== null && sandbox.level === 'bwrap'
  if (!known)
    throw new NerveError(
      'bad-option',
      `${what}: sandbox is ${JSON.stringify(sandbox)}; give 'none' or { level: 'bwrap' }.`,
    )
  checkKnown(`${what}: sandbox`, sandbox, ['level', ...LISTS, 'network'])
  if (sandbox.network !== undefined && typeof sandbox.network !== 'boolean')
    throw new NerveError(
      'bad-option',
      `${what}: sandbox.network is ${JSON.stringify(sandbox.network)}; give true or false.`,
    )
  for (const list of LISTS) {
    const paths: unknown = sandbox[list] ?? []
    if (
      !Array.isArray(paths) ||
      !paths.every((path) => typeof path === 'string' && path !== '' && !path.includes('\0'))
    )
      throw new NerveError('bad-option', `${what}: sandbox.${list} must be a list of paths.`)
  }
}

export interface Surroundings {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** How a command is started in a sandbox. */
export type Enter = (command: Wrapped) => Wrapped

/** Makes sure that the sandbox can be made here, and says how commands get into it. */
export async function enterSandbox(sandbox: Sandbox, { cwd, env }: Surroundings): Promise<Enter> {
  if (sandbox === 'none') return (command) => command
  const folder = await realpath(cwd).catch((cause: unknown) => {
    throw noFolder(cwd, cause)
  })
  const mounts = await mountsOf(sandbox, { cwd: folder, env })
  const argumentsFor = (all: Mounts): string[] =>
    bwrapArguments({ cwd: folder, mounts: thatMatter(all), network: sandbox.network === true })
  const writable = [...mounts.values()].flatMap(({ path, as }) => (as === 'writable' ? [path] : []))
  // What has been in the sandbox may have left a program of that name there, for the next time.
  const own = (place: string): boolean => !writable.some((path) => isIn(path, resolve(folder, place)))
  const file = await probe(programOnPath('bwrap', env['PATH'], own), argumentsFor(mounts), env)
  return (command) => {
    const around = argumentsFor(withProgram(mounts, command))
    return { file, args: [...around, '--', command.file, ...command.args] }
  }
}

export interface Mount {
  readonly path: string
  readonly as: 'writable' | 'readable' | 'hidden-folder' | 'hidden-file'
}

type Mounts = ReadonlyMap<string, Mount>

export interface BwrapPlan {
  readonly cwd: string
  readonly mounts: readonly Mount[]
  readonly network: boolean
}

/** Folders that are empty inside, unless something in them is bound: sockets in /run reach daemons that can do anything. */
const EMPTIED = ['/tmp', '/run']

/** Later arguments of bwrap lie over earlier ones. */
export function bwrapArguments({ cwd, mounts, network }: BwrapPlan): string[] {
  const inOrder = mounts.toSorted((one, two) => depthOf(one.path) - depthOf(two.path))
  return [
    '--die-with-parent',
    '--new-session',
    '--unshare-user-try',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(network ? [] : ['--unshare-net']),
    ...['--cap-drop', 'ALL'],
    ...['--ro-bind', '/', '/'],
    ...['--dev', '/dev'],
    ...['--proc', '/proc'],
    ...EMPTIED.flatMap((path) => ['--tmpfs', path]),
    // Names are looked up through this one, where systemd is.
    ...(network ? ['--ro-bind-try', '/run/systemd/resolve', '/run/systemd/resolve'] : []),
    ...inOrder.flatMap(mounting),
    // When all that lies in them is bound: what is written there would be lost without a word.
    ...inOrder.flatMap(({ path, as }) => (as === 'hidden-folder' ? ['--remount-ro', path] : [])),
    ...['--setenv', 'TMPDIR', '/tmp'],
    ...['--chdir', cwd],
  ]
}

function mounting({ path, as }: Mount): string[] {
  if (as === 'writable') return ['--bind', path, path]
  if (as === 'readable') return ['--ro-bind', path, path]
  // No device can be opened where it is bound: reading it is refused.
  return as === 'hidden-folder' ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
}

/** By path: what is named is stronger than what is hidden by itself. */
async function mountsOf(sandbox: BwrapSandbox, { cwd, env }: Surroundings): Promise<Mounts> {
  const { writable = [], hidden = [], readable = [] } = sandbox
  const found = new Map<string, Mount>()
  for (const place of secretPlaces(cwd, env)) {
    const mount = await hiding(await realpath(place).catch(() => undefined))
    if (mount !== undefined) found.set(mount.path, mount)
  }
  for (const path of hidden) {
    const mount = await hiding(await named('hidden', cwd, path))
    if (mount !== undefined) found.set(mount.path, mount)
  }
  // Binding all would undo what was made empty.
  if (cwd !== '/') found.set(cwd, { path: cwd, as: 'readable' })
  for (const [as, paths] of [['readable', readable] as const, ['writable', writable] as const])
    for (const path of paths) {
      const real = await named(as, cwd, path)
      found.set(real, { path: real, as })
    }
  return found
}

/** A program, or its script, in a folder that is empty inside could not be started: what it was installed with is there to be read. */
function withProgram(mounts: Mounts, { file, args }: Wrapped): Mounts {
  const all = new Map(mounts)
  for (const path of [file, args[0] ?? ''].filter(isAbsolute)) {
    const program = realOr(path)
    const isShown = all.has(program) || nearestAround(program, all) !== undefined
    if (isShown || !EMPTIED.some((one) => isIn(one, program))) continue
    const installed = installation(program)
    all.set(installed, { path: installed, as: 'readable' })
  }
  return all
}

/** What is not there is told of by whoever starts it. */
function realOr(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** All packages that it may need, or the folder that it is in. */
function installation(program: string): string {
  const packages = program.indexOf(`${sep}node_modules${sep}`)
  if (packages >= 0) return program.slice(0, packages + `${sep}node_modules`.length)
  const folder = dirname(program)
  return EMPTIED.includes(folder) ? program : folder
}

function thatMatter(mounts: Mounts): readonly Mount[] {
  return [...mounts.values()].filter((mount) => !isHiddenAnyway(mount, mounts))
}

async function hiding(path: string | undefined): Promise<Mount | undefined> {
  const kind = path === undefined ? undefined : await stat(path).catch(() => undefined)
  if (path === undefined || kind === undefined) return undefined
  return { path, as: kind.isDirectory() ? 'hidden-folder' : 'hidden-file' }
}

/** Something hidden in something hidden would only show its name. */
function isHiddenAnyway({ path, as }: Mount, mounts: Mounts): boolean {
  if (as !== 'hidden-file' && as !== 'hidden-folder') return false
  const nearest = nearestAround(path, mounts)
  return nearest === undefined ? EMPTIED.some((one) => isIn(one, path)) : nearest.as === 'hidden-folder'
}

function nearestAround(path: string, mounts: Mounts): Mount | undefined {
  const around = [...mounts.values()].filter((one) => one.path !== path && isIn(one.path, path))
  return around.toSorted((one, two) => depthOf(two.path) - depthOf(one.path))[0]
}

function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

function depthOf(path: string): number {
  return path.split(sep).filter((name) => name !== '').length
}

/** A path that somebody has named. One that is not there is refused, also where it is to be hidden: it may be misspelled. */
async function named(list: (typeof LISTS)[number], cwd: string, path: string): Promise<string> {
  const asked = isAbsolute(path) ? path : resolve(cwd, path)
  const real = await realpath(asked).catch((cause: unknown) => {
    throw new NerveError('bad-option', `sandbox.${list}: there is no ${asked}. Make it first, or leave it out.`, {
      cause,
    })
  })
  if (real !== '/') return real
  const why = list === 'writable' ? 'would leave nothing of the sandbox' : 'is everything'
  throw new NerveError('bad-option', `sandbox.${list}: '/' ${why}. Name folders.`)
}

const MISSING =
  'Install it (apt-get install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap), or say sandbox: ' +
  "'none' when it may do everything that you may do. Nothing was run."

/** Sandboxes that were made here once. What a command says must never be taken for what bwrap says. */
const proven = new Set<string>()

/** The file of bwrap, once it has made this sandbox. */
async function probe(
  file: string | undefined,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  if (file === undefined)
    throw new NerveError('sandbox-missing', `The sandbox 'bwrap' is not installed here. ${MISSING}`)
  const key = [file, ...args].join('\0')
  if (proven.has(key)) return file
  try {
    await promisify(execFile)(file, [...args, '--', 'true'], { env: { ...env }, timeout: 10_000 })
  } catch (cause) {
    const said = (cause as { stderr?: string }).stderr?.trim() ?? ''
    throw new NerveError(
      'sandbox-missing',
      `The sandbox 'bwrap' cannot be made here: ${said === '' ? (cause as Error).message : said}. User namespaces may be forbidden (in a container, or by the kernel's settings). Nothing was run.`,
      { cause },
    )
  }
  proven.add(key)
  return file
}
