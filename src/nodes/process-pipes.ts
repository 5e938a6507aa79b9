/**
 * Real pipes for a child's output. What Node calls a pipe is a socket, and a shell cannot open a socket: `> /dev/stderr`
 * would fail. A named pipe that is unlinked at once is a pipe like any other.
 *
 * Only another program can make one, which takes as long as a short command. So a few are made at a time, and those that
 * are left over wait for the next commands, open and without a name: nothing is left when this process is killed.
 */
import { execFile } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
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

interface Pipe {
  readonly read: number
  readonly write: number
}

/** At most so many, less those of one command, are kept open. */
export const PIPES_AT_ONCE = 8

const spare: Pipe[] = []
let making: Promise<void> | undefined

/** Input is a file in the folder: it needs nobody to feed it, and can be opened again. It has no name any more either. */
export async function openPipes(folder: string, input: string | Uint8Array | undefined): Promise<Pipes> {
  const [out, err] = await takePipes()
  const childEnds = [out.write, err.write]
  const closeChildEnds = (): void => {
    for (const fd of childEnds.splice(0)) closeSync(fd)
  }
  try {
    const stdin = input === undefined ? 'ignore' : await openInput(folder, input)
    if (stdin !== 'ignore') childEnds.push(stdin)
    return {
      stdio: [stdin, out.write, err.write],
      stdout: reader(out.read),
      stderr: reader(err.read),
      closeChildEnds,
    }
  } catch (error) {
    closeChildEnds()
    for (const { read } of [out, err]) closeSync(read)
    throw error
  }
}

function reader(fd: number): Socket {
  return new Socket({ fd, readable: true, writable: false })
}

function openInput(parent: string, input: string | Uint8Array): Promise<number> {
  return inFolder(parent, async (folder) => {
    const path = join(folder, 'stdin')
    writeFileSync(path, input, { mode: 0o600 })
    return openSync(path, constants.O_RDONLY)
  })
}

async function inFolder<Result>(parent: string, work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(parent, 'nerve-bash-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function takePipes(): Promise<readonly [Pipe, Pipe]> {
  for (;;) {
    const [out, err] = spare
    if (out !== undefined && err !== undefined) {
      spare.splice(0, 2)
      return [out, err]
    }
    making ??= makePipes().finally(() => {
      making = undefined
    })
    await making
  }
}

async function makePipes(): Promise<void> {
  try {
    await inFolder(tmpdir(), async (folder) => {
      const names = Array.from({ length: PIPES_AT_ONCE }, (_, at) => join(folder, String(at)))
      await promisify(execFile)('mkfifo', ['-m', '600', ...names])
      for (const name of names) spare.push(openPipe(name))
    })
  } catch (cause) {
    throw new NerveError(
      'command-failed',
      `Pipes for the command could not be made: ${(cause as Error).message}. 'mkfifo' (coreutils, busybox) must be in the PATH, and the folder for temporary files writable.`,
      { cause, retry: 'later', data: { reason: 'pipes' } },
    )
  }
}

/** The reading end first, and not blocking: each would wait for the other. */
function openPipe(name: string): Pipe {
  const read = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return { read, write: openSync(name, constants.O_WRONLY) }
  } catch (error) {
    closeSync(read)
    throw error
  }
}
