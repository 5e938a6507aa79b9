/**
 * Sandboxes for commands. `bwrap` is a namespace of its own: the file system can be read but not written, except for the
 * paths that are named; other processes cannot be seen, in /proc or otherwise; there is no network unless it is asked for.
 * A sandbox that cannot be made is an error: nothing is ever run without the one that was asked for.
 */
import { execFile } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { isAbsolute, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { NerveError } from '../base/nerve-error.ts'
import { checkKnown } from './forkable.ts'
import { noFolder } from './process.ts'

export interface BwrapSandbox {
  readonly level: 'bwrap'
  /** Paths that the command may write to, from its cwd (default none; /tmp is always an empty one of its own). */
  readonly writable?: readonly string[]
  /** True to leave the network on (default false). */
  readonly network?: boolean
}

export type Sandbox = 'none' | BwrapSandbox

export interface Wrapped {
  readonly file: string
  readonly args: readonly string[]
}

export function checkSandbox(what: string, sandbox: Sandbox): void {
  if (sandbox === 'none') return
  const known = typeof sandbox === 'object' && sandbox !== null && sandbox.level === 'bwrap'
  if (!known)
    throw new NerveError(
      'bad-option',
      `${what}: sandbox is ${JSON.stringify(sandbox)}; give 'none' or { level: 'bwrap' }.`,
    )
  checkKnown(`${what}: sandbox`, sandbox, ['level', 'writable', 'network'])
  if (sandbox.network !== undefined && typeof sandbox.network !== 'boolean')
    throw new NerveError(
      'bad-option',
      `${what}: sandbox.network is ${JSON.stringify(sandbox.network)}; give true or false.`,
    )
  if (sandbox.writable !== undefined && !Array.isArray(sandbox.writable))
    throw new NerveError('bad-option', `${what}: sandbox.writable must be a list of paths.`)
}

export interface Surroundings {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** The command as it is started in its sandbox. Rejects when the sandbox cannot be made here. */
export async function sandboxed(command: Wrapped, sandbox: Sandbox, { cwd, env }: Surroundings): Promise<Wrapped> {
  if (sandbox === 'none') return command
  const folder = await realpath(cwd).catch((cause: unknown) => {
    throw noFolder(cwd, cause)
  })
  const writable = await Promise.all((sandbox.writable ?? []).map((path) => writablePath(folder, path)))
  const args = bwrapArguments({ cwd: folder, writable, network: sandbox.network === true })
  await probe(args, env)
  return { file: 'bwrap', args: [...args, '--', command.file, ...command.args] }
}

export interface BwrapPlan {
  readonly cwd: string
  readonly writable: readonly string[]
  readonly network: boolean
}

/** Folders that are empty inside, unless something in them is bound: sockets in /run reach daemons that can do anything. */
const EMPTIED = ['/tmp', '/run']

/** Later arguments of bwrap lie over earlier ones. */
export function bwrapArguments({ cwd, writable, network }: BwrapPlan): string[] {
  const hidden = EMPTIED.some((path) => cwd === path || cwd.startsWith(`${path}${sep}`))
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
    ...(hidden ? ['--ro-bind', cwd, cwd] : []),
    ...writable.flatMap((path) => ['--bind', path, path]),
    ...['--setenv', 'TMPDIR', '/tmp'],
    ...['--chdir', cwd],
  ]
}

async function writablePath(cwd: string, path: string): Promise<string> {
  const asked = isAbsolute(path) ? path : resolve(cwd, path)
  const real = await realpath(asked).catch((cause: unknown) => {
    throw new NerveError('bad-option', `sandbox.writable: there is no ${asked}. Make it first, or leave it out.`, {
      cause,
    })
  })
  if (real !== '/') return real
  throw new NerveError('bad-option', "sandbox.writable: '/' would leave nothing of the sandbox. Name folders.")
}

const MISSING =
  'Install it (apt-get install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap), or say sandbox: ' +
  "'none' when the command may do everything that you may do. Nothing was run."

/** Sandboxes that were made here once. What a command says must never be taken for what bwrap says. */
const proven = new Set<string>()

async function probe(args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  const key = args.join('\0')
  if (proven.has(key)) return
  try {
    await promisify(execFile)('bwrap', [...args, '--', 'true'], { env: { ...env }, timeout: 10_000 })
  } catch (cause) {
    const { code, stderr } = cause as { code?: unknown; stderr?: string }
    if (code === 'ENOENT')
      throw new NerveError('sandbox-missing', `The sandbox 'bwrap' is not installed here. ${MISSING}`, { cause })
    const said = stderr?.trim() ?? ''
    throw new NerveError(
      'sandbox-missing',
      `The sandbox 'bwrap' cannot be made here: ${said === '' ? (cause as Error).message : said}. User namespaces may be forbidden (in a container, or by the kernel's settings). Nothing was run.`,
      { cause },
    )
  }
  proven.add(key)
}
