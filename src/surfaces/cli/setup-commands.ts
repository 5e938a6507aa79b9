/** `nerve init`, `nerve repl` and `nerve completion` as data. Like command-table.ts, it loads nothing. */
import type { CommandSpec } from './command-spec.ts'

export const INIT: CommandSpec = {
  name: 'init',
  usage: '[FOLDER]',
  summary: 'make a project: a project file, examples that run, hints for editors and agents',
  about:
    'Works in an empty folder and in an existing package. What is there is left as it is, and said so; called again, it ' +
    'adds what is missing. The project is trusted, unless it had code for Nerve before. Needs no network and no key.',
  takes: [0, 1],
  examples: [
    ['nerve init', 'in this folder'],
    ['nerve init flows && cd flows && nerve run workflows/hello.ts --input Ada', 'in a new one, and the first run'],
  ],
  load: () => import('./commands/init.ts'),
}

export const REPL: CommandSpec = {
  name: 'repl',
  usage: '',
  summary: 'a prompt for these commands, without the word nerve',
  about:
    'A line is a command: `ps`, `run hello.ts --input Ada`, `answer last yes`. `list` is short for `node list`, and ' +
    '`exec NAME LINE` for `node execute`: all that follows the name is the line. Tab completes, the history is kept in .nerve, ' +
    '`exit` or Ctrl-D leaves. Without a terminal it takes lines from stdin, goes on after one that fails, and ends with ' +
    'the gravest code. # begins a comment.',
  takes: [0, 0],
  examples: [
    ['nerve repl', 'then: help, list, exec sh echo hello, exit'],
    [`printf 'ps\\ninbox\\n' | nerve repl --json`, 'many commands from a program'],
  ],
  drives: true,
  load: () => import('./commands/repl.ts'),
}

export const COMPLETION: CommandSpec = {
  name: 'completion',
  usage: 'bash|zsh|fish',
  summary: 'print the script that makes a shell complete this command',
  about:
    'Completes commands, verbs, options, and what the project has: runs, open questions and their choices, nodes, sessions, ' +
    'definitions and their files. The script asks `nerve` each time, so it stays right when Nerve is updated.',
  takes: [1, Number.POSITIVE_INFINITY],
  examples: [
    ['source <(nerve completion bash)', 'for good: add this line to ~/.bashrc'],
    ['source <(nerve completion zsh)', 'for good: add it to ~/.zshrc, after compinit'],
    ['nerve completion fish > ~/.config/fish/completions/nerve.fish', 'for good'],
  ],
  load: () => import('./commands/completion.ts'),
}
