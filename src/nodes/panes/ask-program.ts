/** Runs a multiplexer's own command, and says what it said when it failed. */
import { execFile } from 'node:child_process'
import { NerveError } from '../../base/nerve-error.ts'

export interface Asking {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly input?: string
}

export interface Told {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A multiplexer that does not answer for so long hangs. */
const PATIENCE_MS = 20_000
const MOST_OUTPUT = 64 * 1024 * 1024

/** Runs it to its end, whatever that is. Throws when it cannot be started or does not end. */
export function tried({ program, args, env, input }: Asking): Promise<Told> {
  return new Promise((resolve, reject) => {
    const options = { timeout: PATIENCE_MS, killSignal: 'SIGKILL', maxBuffer: MOST_OUTPUT } as const
    const child = execFile(
      program,
      [...args],
      { ...options, ...(env === undefined ? {} : { env }) },
      (error, stdout, stderr) => {
        if (error === null) return resolve({ code: 0, stdout, stderr })
        if (error.killed === true) return reject(silent(program, args))
        if (typeof error.code !== 'number') return reject(missing(program, error))
        resolve({ code: error.code, stdout, stderr })
      },
    )
    // One that ends without reading what it is given says so by its exit code.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input ?? '')
  })
}

/** What it printed; an error when it failed. */
export async function asked(asking: Asking): Promise<string> {
  const { code, stdout, stderr } = await tried(asking)
  if (code === 0) return stdout
  throw refused(asking, stderr === '' ? stdout : stderr)
}

export function refused({ program, args }: Asking, said: string): NerveError {
  return new NerveError('pane-failed', `${shown(program, args)} failed. It said: ${said.trim().slice(-500)}`, {
    data: { reason: 'refused', program },
  })
}

function silent(program: string, args: readonly string[]): NerveError {
  return new NerveError(
    'pane-failed',
    `${shown(program, args)} did not answer within ${PATIENCE_MS / 1_000} s: its server hangs. Look at it, or end it.`,
    { data: { reason: 'silent', program } },
  )
}

function missing(program: string, cause: Error): NerveError {
  return new NerveError(
    'pane-failed',
    `${program} could not be started: ${cause.message}. Install it, or name it: in: { mux, program }.`,
    { cause, data: { reason: 'missing', program } },
  )
}

/** The first words: what follows may be long, or private. */
function shown(program: string, args: readonly string[]): string {
  return [program, ...args.slice(0, 4)].join(' ')
}
