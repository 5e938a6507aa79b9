/** The environment of a command: a few names of the parent's that every program expects, and what the node names. */
import { NerveError } from '../base/nerve-error.ts'
import { MARK_NAME } from './process-table.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const USUAL: ReadonlySet<string> = new Set(['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'SHELL', 'USER', 'LOGNAME'])

function isUsual(name: string): boolean {
  return USUAL.has(name) || name.startsWith('LC_')
}

export interface Named {
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Further names that are taken over from the parent. */
  readonly inherit?: readonly string[] | undefined
}

/** Nothing else of the parent's reaches the child: its environment holds keys and tokens. */
export function commandEnvironment(parent: Environment, { env = {}, inherit = [] }: Named): Record<string, string> {
  const made: Record<string, string> = {}
  for (const [name, value] of Object.entries(parent))
    if (value !== undefined && (isUsual(name) || inherit.includes(name))) made[name] = value
  return { ...made, ...env }
}

export function checkEnvironment(what: string, { env = {}, inherit = [] }: Named): void {
  if (typeof env !== 'object' || env === null)
    throw new NerveError('bad-option', `${what}: env must be an object of names and values.`)
  if (!Array.isArray(inherit)) throw new NerveError('bad-option', `${what}: inherit must be a list of names.`)
  const names: readonly unknown[] = [...Object.keys(env), ...(inherit as unknown[])]
  for (const name of names) {
    if (typeof name !== 'string' || !/^[^=\0]+$/.test(name) || name === MARK_NAME)
      throw new NerveError('bad-option', `${what}: ${JSON.stringify(name)} cannot be the name of a variable here.`)
  }
  // The value may be a secret: only its name is said.
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== 'string' || value.includes('\0'))
      throw new NerveError('bad-option', `${what}: env.${name} must be text without a zero byte.`)
  }
}
