/**
 * Real pipes for a child's output. What Node calls a pipe is a socket, and a shell cannot open a socket: `> /dev/stderr`
 * would fail. A named pipe that is unlinked at once is a pipe like any other.
 */
import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NerveError } from '../base/nerve-error.ts'

export const STREAMS = ['stdout', 'stderr'] as const
export type StreamName = (typeof STREAMS)[number]

export interface Pipes {
  /** The child's three ends, for `spawn`. */
  readonly stdio: readonly ['ignore' | number, number, number]
  readonly stdout: Socket
  readonly stderr: Socket
  /** Closes the child's ends here, once the child has its own. */
  readonly closeChildEnds: () => void
}

/**
 * Input is a file: it needs nobody to feed it, and can be opened again. Nothing of this has a name any more when the command
 * starts, so that nothing is left when this process is killed.
 */
export async function openPipes(parent: string, input: string | Uint8Array | undefined): Promise<Pipes> {
  const folder = await mkdtemp(join(parent, 'nerve-bash-'))
  try {
    return await openIn(folder, input)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function openIn(folder: string, input: string | Uint8Array | undefined): Promise<Pipes> {
  const names = STREAMS.map((name) => join(folder, `${name}.pipe`))
  await makePipes(names)
  const opened: number[] = []
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags)
    opened.push(fd)
    return fd
  }
  try {
    const stdin = input === undefined ? 'ignore' : open(inputFile(folder, input), constants.O_RDONLY)
    // The reading ends first, and not blocking: each would wait for the other.
    const [out, err] = names.map((name) => open(name, constants.O_RDONLY | constants.O_NONBLOCK)) as [number, number]
    const [toOut, toErr] = names.map((name) => open(name, constants.O_WRONLY)) as [number, number]
    const childEnds = [toOut, toErr, ...(stdin === 'ignore' ? [] : [stdin])]
    return {
      stdio: [stdin, toOut, toErr],
      stdout: reader(out),
      stderr: reader(err),
      closeChildEnds: () => {
        for (const fd of childEnds.splice(0)) closeSync(fd)
      },
    }
  } catch (error) {
    for (const fd of opened) closeSync(fd)
    throw error
  }
}

function reader(fd: number): Socket {
  return new Socket({ fd, readable: true, writable: false })
}

function inputFile(folder: string, input: string | Uint8Array): string {
  const path = join(folder, 'stdin')
  writeFileSync(path, input, { mode: 0o600 })
  return path
}

async function makePipes(names: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', ...names])
  } catch (cause) {
    throw new NerveError(
      'command-failed',
      `Pipes for the command could not be made: ${(cause as Error).message}. 'mkfifo' (coreutils, busybox) must be in the PATH, and the folder for temporary files writable.`,
      { cause, retry: 'later', data: { reason: 'pipes' } },
    )
  }
}
