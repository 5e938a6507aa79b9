/**
 * The scripts that make shells complete the command. Each hands the words to `nerve completion words` and shows what it says:
 * a value and what it means on each line. A value that ends with a slash goes on.
 */
const BASH = String.raw`# nerve completion for bash. In ~/.bashrc: source <(nerve completion bash)
_nerve() {
  local -a words=() replies=()
  local i piece joined= line value
  # Readline breaks words at = and :, which are part of them here.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    piece=\${COMP_WORDS[i]}
    if [[ \${#words[@]} -gt 0 && ( $piece == [=:]* || -n $joined ) ]]; then
      words[\${#words[@]}-1]+=$piece
    else
      words+=("$piece")
    fi
    [[ "$piece" == *[=:] ]] && joined=1 || joined=
  done
  local current=\${words[\${#words[@]}-1]} quote=
  [[ $current == [\"\']* ]] && quote=\${current:0:1} && current=\${current:1}
  [[ -z $quote ]] && current=\${current//\\/}
  words[\${#words[@]}-1]=$current
  local broken=\${current%"\${current##*[=:]}"}
  while IFS= read -r line; do
    value=\${line%%$'\t'*}
    value=\${value#"$broken"}
    [[ -z $quote ]] && printf -v value %q "$value"
    replies+=("$value")
  done < <(nerve completion words -- "\${words[@]}" 2>/dev/null)
  COMPREPLY=("\${replies[@]}")
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]] && compopt -o nospace
  return 0
}
complete -F _nerve nerve
`

const ZSH = String.raw`#compdef nerve
# nerve completion for zsh. In ~/.zshrc, after compinit: source <(nerve completion zsh)
_nerve() {
  local -a lines open rest
  local line value about
  lines=("\${(@f)$(nerve completion words -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    value=\${line%%$'\t'*} about=
    [[ $line == *$'\t'* ]] && about=\${line#*$'\t'}
    value=\${value//:/\\:}
    [[ -n $about ]] && value+=:$about
    if [[ \${line%%$'\t'*} == */ ]]; then open+=("$value"); else rest+=("$value"); fi
  done
  (( $#open )) && _describe -V nerve open -S ''
  (( $#rest )) && _describe -V nerve rest
  (( $#open + $#rest ))
}
if [[ $funcstack[1] == _nerve ]]; then _nerve "$@"; else compdef _nerve nerve; fi
`

const FISH = String.raw`# nerve completion for fish. nerve completion fish > ~/.config/fish/completions/nerve.fish
function __nerve_words
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l plain (string unescape -- "$current")
    or set plain "$current"
    nerve completion words -- $words "$plain" 2>/dev/null
end
complete -c nerve -f -a '(__nerve_words)'
`

const unescaped = (script: string): string => script.replaceAll('\\${', '${')

export const SCRIPTS: Readonly<Record<string, string>> = {
  bash: unescaped(BASH),
  zsh: unescaped(ZSH),
  fish: FISH,
}
