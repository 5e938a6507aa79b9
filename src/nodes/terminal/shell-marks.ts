/** How bash, zsh and fish are made to print marks: a start-up file in a private folder, gone after the first prompt. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

export interface MarkedShell {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Takes the start-up file away. */
  readonly forget: () => void
}

interface Start {
  readonly nonce: string
  /** A file that the shell reads first. */
  readonly rc: string | undefined
  readonly env: Readonly<Record<string, string>>
}

const OWN_CONFIG = '__nerve_config_home'

export type Shell = 'bash' | 'zsh' | 'fish'

/** The shell that a command is, if it is one that we know. */
export function shellKind(command: string): Shell | undefined {
  const name = basename(command)
  return name === 'bash' || name === 'zsh' || name === 'fish' ? name : undefined
}

export function markShell(kind: Shell, start: Start): MarkedShell {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-shell-'))
  const forget = (): void => rmSync(folder, { recursive: true, force: true })
  const file = join(folder, kind === 'zsh' ? '.zshrc' : 'rc')
  writeFileSync(file, SCRIPTS[kind](start), { mode: 0o600 })
  if (kind === 'zsh') return { args: ['-i'], env: { ZDOTDIR: folder }, forget }
  if (kind === 'bash') return { args: ['--noprofile', '--rcfile', file, '-i'], env: {}, forget }
  // With --no-config it would have no paste mode: it gets an empty folder of configuration instead, until it has started.
  const own = start.env['XDG_CONFIG_HOME']
  const env = { XDG_CONFIG_HOME: folder, ...(own === undefined ? {} : { [OWN_CONFIG]: own }) }
  return { args: ['-i', '--init-command', `source ${quoted(file)}`], env, forget }
}

const SCRIPTS: Readonly<Record<Shell, (start: Start) => string>> = { bash, zsh, fish }

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

// `__nerve_ran` is set by PS0, which is expanded after a line was read and before it runs; a substring of nothing prints
// nothing, and its offset is arithmetic, which may assign.
function bash({ nonce, rc }: Start): string {
  const mark = (kind: string): string => String.raw`\033]133;${kind};n=${nonce};k=$__nerve_k\007`
  return `PS1='\\w\\$ '
${rc === undefined ? '' : `. ${quoted(rc)}\n`}unset HISTFILE
stty iutf8 2>/dev/null
__nerve_k=0 __nerve_ran= __nerve_none=
__nerve_dress() {
  PS1='\\[${mark('A')}\\]'"$PS1"'\\[${mark('B')}\\]'
  PS2='\\[${mark('P')}\\]'"$PS2"
  PS0='\${__nerve_none:__nerve_ran=1:0}${mark('C')}'
}
__nerve_prompt() {
  local code=$?
  __nerve_k=$((__nerve_k + 1))
  [[ -n $__nerve_ran ]] || code=
  __nerve_ran=
  printf '\\033]133;D;%s;n=${nonce};k=%s\\007' "$code" "$__nerve_k"
  [[ $PS1 == *'133;B;n=${nonce}'* ]] || __nerve_dress
  return \${code:-0}
}
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
  printf '\\033]133;U;n=${nonce};k=0\\007'
else
  PROMPT_COMMAND="__nerve_prompt\${PROMPT_COMMAND:+;$PROMPT_COMMAND}"
fi
`
}

// %9v is an element of psvar: a number in the prompt without PROMPT_SUBST, which would change the person's own prompt.
function zsh({ nonce, rc }: Start): string {
  const mark = (kind: string): string => String.raw`%{\e]133;${kind};n=${nonce};k=%9v\a%}`
  return `unset ZDOTDIR
PS1='%~%# '
${rc === undefined ? '' : `source ${quoted(rc)}\n`}unset HISTFILE
unsetopt PROMPT_SP
stty iutf8 2>/dev/null
typeset -g __nerve_ran=
typeset -gi __nerve_k=0
__nerve_prompt() {
  local code=$?
  __nerve_k+=1
  psvar[9]=$__nerve_k
  [[ -n $__nerve_ran ]] || code=
  __nerve_ran=
  printf '\\033]133;D;%s;n=${nonce};k=%s\\007' "$code" $__nerve_k
  [[ $PS1 == *'133;B;n=${nonce}'* ]] && return
  PS1=$'${mark('A')}'$PS1$'${mark('B')}'
  PS2=$'${mark('P')}'$PS2
}
__nerve_begin() {
  __nerve_ran=1
  printf '\\033]133;C;n=${nonce};k=%s\\007' $__nerve_k
}
precmd_functions=(__nerve_prompt $precmd_functions)
preexec_functions+=(__nerve_begin)
`
}

// fish says nothing when nothing ran (an empty line, a syntax error): then the prompt itself says so. It has no second prompt
// either: the key that ends a line asks whether the line is whole.
function fish({ nonce, rc }: Start): string {
  const mark = (kind: string): string => `printf '\\e]133;${kind};n=${nonce};k=%s\\a' $__nerve_k`
  return `set -e XDG_CONFIG_HOME
set -q ${OWN_CONFIG}; and set -gx XDG_CONFIG_HOME $${OWN_CONFIG}; and set -e ${OWN_CONFIG}
${rc === undefined ? '' : `source ${quoted(rc)}\n`}set -g fish_greeting
set -g fish_history ''
set -g __nerve_k 0
set -g __nerve_ended 1
stty iutf8 2>/dev/null
function __nerve_begin --on-event fish_preexec
  ${mark('C')}
end
function __nerve_end --on-event fish_postexec
  set -l code $status
  set -g __nerve_k (math $__nerve_k + 1)
  set -g __nerve_ended 1
  printf '\\e]133;D;%s;n=${nonce};k=%s\\a' $code $__nerve_k
end
functions -q fish_prompt; and functions -c fish_prompt __nerve_own_prompt
functions -q __nerve_own_prompt; or function __nerve_own_prompt; echo -n (prompt_pwd)'> '; end
function fish_prompt
  if test $__nerve_ended = 0
    set -g __nerve_k (math $__nerve_k + 1)
    printf '\\e]133;D;;n=${nonce};k=%s\\a' $__nerve_k
  end
  set -g __nerve_ended 0
  ${mark('A')}
  __nerve_own_prompt
  ${mark('B')}
end
function __nerve_enter
  commandline --is-valid
  test $status = 2; and ${mark('P')}
  commandline -f execute
end
bind \\r __nerve_enter
bind -M insert \\r __nerve_enter
`
}
