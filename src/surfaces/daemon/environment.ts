/**
 * What a daemon has from its start and does not take from later commands: the project file, and the environment of the
 * terminal that started it, with the keys and addresses that agents and models need. A command that sees other ones says so.
 * Digests are compared: no value is written anywhere.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { configFile } from '../../host/api.ts'
import type { EnvironmentMarks } from './daemon-files.ts'

const MATTERS = /(_API_KEY|_AUTH_TOKEN|_TOKEN|_BASE_URL|_PROXY|_proxy)$|^PATH$/

type Environment = Readonly<Record<string, string | undefined>>

export function marksOf(env: Environment, salt = randomBytes(16).toString('hex')): EnvironmentMarks {
  const names = Object.keys(env).filter((name) => MATTERS.test(name))
  const marks = names.map((name) => [name, mark(salt, name === 'PATH' ? ownPath(env[name] ?? '') : (env[name] ?? ''))])
  return { salt, marks: Object.fromEntries(marks) as Record<string, string> }
}

/** npm and npx put folders of the package before it, and again in each shell that they start: those are no difference. */
function ownPath(path: string): string {
  const folders = path.split(delimiter).filter((folder) => !/[\\/]node_modules[\\/]/.test(folder))
  return [...new Set(folders)].join(delimiter)
}

/** The variables that have another value here than they had for the daemon, or that it does not have. */
export function differing({ salt, marks }: EnvironmentMarks, env: Environment): readonly string[] {
  const here = marksOf(env, salt).marks
  return Object.keys(here).filter((name) => here[name] !== marks[name])
}

/** The project file as it is now; undefined when there is none. */
export function configMark(dir: string): string | undefined {
  const file = configFile(dir)
  return file === undefined ? undefined : createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16)
}

function mark(salt: string, value: string): string {
  return createHmac('sha256', salt).update(value).digest('hex').slice(0, 16)
}
