/**
 * How a program gets into a pane: by a small script that takes itself away, clears the environment of the multiplexer,
 * sets the program's own, and becomes the program. Not by arguments: those are there for everybody to see.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'

export interface Launch {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** A line of shell that must succeed first. */
  readonly first?: string
}

export interface Launcher {
  readonly file: string
  readonly args: readonly string[]
  /** For when it was never started. */
  readonly forget: () => void
}

/** What only the multiplexer knows: what kind of terminal its panes are. */
const KEPT = 'TERM|TERMINFO|COLORTERM'

export function launcherOf({ file, args, env, first = ':' }: Launch): Launcher {
  for (const name of Object.keys(env))
    if (!/^[A-Za-z_]\w*$/.test(name))
      throw new NerveError(
        'bad-option',
        `${JSON.stringify(name)} cannot be a variable in a pane: shells cannot set it.`,
      )
  const folder = mkdtempSync(join(tmpdir(), 'nerve-pane-'))
  const script = join(folder, 'launch')
  const set = Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}`)
  writeFileSync(
    script,
    `${first} || exit 127
rm -rf ${quoted(folder)}
for name in $(env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do
  case $name in ${KEPT}) ;; *) command unset "$name" 2>/dev/null ;; esac
done
${set.join('\n')}
exec ${[file, ...args].map(quoted).join(' ')}
`,
    { mode: 0o600 },
  )
  return { file: '/bin/sh', args: [script], forget: () => rmSync(folder, { recursive: true, force: true }) }
}

/** For a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
