/** `nerve run --detach`: the run belongs to a background process; this one leaves when the run is in the journal. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { NerveError, errorData, errorFrom, type ErrorData } from '../../base/nerve-error.ts'
import type { Invocation } from './dispatch.ts'
import { EXIT } from './exit-code.ts'
import { readAll } from './values.ts'

type Said = { readonly run: string } | { readonly error: ErrorData }

/** Tells the process that started this one that the run exists, or why not. */
export function announce(said: { readonly run: string } | { readonly error: unknown }): void {
  if (process.send === undefined || !process.connected) return
  const message: Said = 'run' in said ? said : { error: errorData(said.error) }
  process.send(message, () => process.disconnect())
}

export async function detach(invocation: Invocation): Promise<number> {
  const { out, dir } = invocation
  const logs = join(dir, '.nerve', 'logs')
  const made = mkdirSync(logs, { recursive: true, mode: 0o700 })
  const unnamed = join(logs, `starting-${process.pid}.log`)
  const input = invocation.args.text('input') === '-' ? await readAll(process.stdin) : undefined
  const log = openSync(unnamed, 'a', 0o600)
  const child = spawn(process.execPath, ownedCall(invocation), {
    cwd: invocation.cwd,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', log, log, 'ipc'],
  })
  closeSync(log)
  child.stdin?.end(input)
  const said = await firstWord(child, unnamed)
  if ('error' in said) {
    leaveNothing(logs, unnamed, made)
    throw errorFrom(said.error)
  }
  const file = join(logs, `${said.run}.log`)
  renameSync(unnamed, file)
  child.disconnect()
  child.unref()
  out.data({ run: said.run, pid: child.pid, log: file })
  out.line(said.run)
  return EXIT.done
}

/** The same call, in the mode of the background process. */
function ownedCall({ command, args, dir }: Invocation): string[] {
  const text = (name: string): string[] => args.texts(name).flatMap((value) => [`--${name}=${value}`])
  return [
    ...process.execArgv,
    process.argv[1] ?? '',
    ...command.split(' '),
    '--owned',
    `--dir=${dir}`,
    ...text('input'),
    ...text('param'),
    ...text('budget'),
    ...(args.flag('yes') ? ['--yes'] : []),
    ...(args.flag('verbose') ? ['--verbose'] : []),
    '--',
    ...args.words,
  ]
}

function firstWord(child: ChildProcess, log: string): Promise<Said> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Said))
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const said = existsSync(log) ? readFileSync(log, 'utf8').trim() : ''
      const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`
      const error = new NerveError('run-failed', `The background process ${how} before the run started. ${said}`.trim())
      resolve({ error: errorData(error) })
    })
  })
}

/** A start that failed leaves no files behind; folders only when they were there before. */
function leaveNothing(logs: string, log: string, made: string | undefined): void {
  rmSync(log, { force: true })
  if (made === undefined) return
  for (const folder of made === logs ? [logs] : [logs, made]) {
    try {
      rmdirSync(folder)
    } catch {
      // Something else is in it by now.
    }
  }
}
