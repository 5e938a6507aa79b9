/** Groups of commands about definitions, sessions and panes, as data. Like command-table.ts, it loads nothing. */
import type { CommandSpec, OptionSpec } from './command-spec.ts'
import { START_OPTIONS } from './run-command.ts'

const START = '[--input JSON|text] [--param k=v …] [--budget …] [--detach] [--yes]'

export const GRAPH: CommandSpec = {
  name: 'graph',
  usage: 'VERB …',
  summary: 'graphs in files: run, show, validate',
  takes: [0, 0],
  examples: [['nerve graph run flow.yaml', 'the same as nerve run flow.yaml']],
  load: () => import('./commands/run.ts'),
  verbs: [
    {
      name: 'graph run',
      usage: `FILE ${START}`,
      summary: 'start a graph and drive it: nerve run',
      takes: [1, 1],
      options: START_OPTIONS,
      examples: [['nerve graph run flow.yaml --input moss', 'a spec, or a file of code that exports a graph']],
      drives: true,
      load: () => import('./commands/run.ts'),
    },
    {
      name: 'graph show',
      usage: 'FILE [--mermaid]',
      summary: 'tell what a file holds: nerve explain',
      takes: [1, 1],
      options: { mermaid: { type: 'boolean', help: 'draw it: print a Mermaid flowchart and nothing else' } },
      examples: [['nerve graph show flow.yaml --mermaid', 'a drawing']],
      load: () => import('./commands/explain.ts'),
    },
    {
      name: 'graph validate',
      usage: 'FILE',
      summary: 'tell everything that is wrong with a file: nerve validate',
      takes: [1, 1],
      examples: [['nerve graph validate flow.yaml', 'exits with 1 when something is wrong']],
      load: () => import('./commands/validate.ts'),
    },
  ],
}

const definitions = () => import('./commands/workflow.ts')

export const WORKFLOW: CommandSpec = {
  name: 'workflow',
  usage: 'VERB …',
  summary: 'what can be run here: list, run by name',
  about:
    'Known are the definitions of nerve.config.ts, those that were sent as data (definitions.create), the files in the folder ' +
    'workflows, and the files that runs were started from. The daemon is asked when one runs.',
  takes: [0, 0],
  examples: [['nerve workflow list', 'names, kinds, files, and how often they ran']],
  load: definitions,
  verbs: [
    {
      name: 'workflow list',
      usage: '',
      summary: 'list what can be run here',
      about: 'Files in the folder workflows are loaded to see what they hold; nothing of it runs.',
      takes: [0, 0],
      examples: [['nerve workflow list --json', 'for programs']],
      load: definitions,
    },
    {
      name: 'workflow run',
      usage: `DEFINITION ${START}`,
      summary: 'start a definition by its name, and drive it',
      about: 'DEFINITION is a name from the list, or a file.',
      takes: [1, 1],
      options: START_OPTIONS,
      examples: [['nerve workflow run hello --input Ada', 'wherever its file is']],
      drives: true,
      load: definitions,
    },
  ],
}

const sessions = () => import('./commands/session.ts')

export const SESSION: CommandSpec = {
  name: 'session',
  usage: 'VERB …',
  summary: 'sessions of the project: list, show, close, remove',
  about: 'A session keeps nodes together: those of nerve.config.ts and those that were recorded.',
  takes: [0, 0],
  examples: [['nerve session list', 'what there is']],
  load: sessions,
  verbs: [
    {
      name: 'session list',
      usage: '',
      summary: 'list the sessions of the project',
      takes: [0, 0],
      examples: [['nerve session list --json', 'names, tags, and how many nodes']],
      load: sessions,
    },
    {
      name: 'session show',
      usage: 'NAME',
      summary: 'show what is in a session',
      takes: [1, 1],
      examples: [['nerve session show default', 'its nodes, in the order in which they start']],
      load: sessions,
    },
    {
      name: 'session close',
      usage: 'NAME',
      summary: 'end what lives on of a session; it stays recorded',
      about: 'Terminals in panes of tmux are ended. One that another process has open is closed there, not here.',
      takes: [1, 1],
      examples: [['nerve session close work', 'its nodes start again when they are used']],
      load: sessions,
    },
    {
      name: 'session remove',
      usage: 'NAME',
      summary: 'close a session and forget what is recorded of it',
      about: 'Histories of its nodes stay. What nerve.config.ts says stays too.',
      takes: [1, 1],
      examples: [['nerve session remove work', 'for good']],
      load: sessions,
    },
  ],
}

const panes = () => import('./commands/wezterm.ts')
const INSTANCE: Readonly<Record<string, OptionSpec>> = {
  socket: {
    type: 'string',
    value: 'FILE',
    help: 'which instance (default: the one around this process, or the running one)',
  },
  program: { type: 'string', value: 'FILE', help: 'the program (default: wezterm)' },
}

type Verb = Pick<CommandSpec, 'usage' | 'summary' | 'about' | 'takes' | 'options' | 'examples'>

function pane(verb: string, { options, ...rest }: Verb): CommandSpec {
  return { ...rest, name: `wezterm ${verb}`, options: { ...options, ...INSTANCE }, load: panes }
}

export const WEZTERM: CommandSpec = {
  name: 'wezterm',
  usage: 'VERB …',
  summary: 'panes of WezTerm: list, spawn, send, read, kill',
  about: 'By `wezterm cli`, so WezTerm has to run. Terminals as nodes of a project: nerve help node.',
  takes: [0, 0],
  examples: [['nerve wezterm list', 'the panes that there are']],
  load: panes,
  verbs: [
    pane('list', {
      usage: '',
      summary: 'list panes',
      takes: [0, 0],
      examples: [['nerve wezterm list --json | jq .[].id', 'their ids']],
    }),
    pane('spawn', {
      usage: '[--cwd FOLDER] [-- PROGRAM ARGUMENTS …]',
      summary: 'start a program in a new pane, and print the id of the pane',
      takes: [0, Number.POSITIVE_INFINITY],
      options: { cwd: { type: 'string', value: 'FOLDER', help: 'where it works (default: here)' } },
      examples: [['nerve wezterm spawn -- top', 'without a program it is $SHELL']],
    }),
    pane('send', {
      usage: 'PANE [TEXT] [--key KEY …]',
      summary: 'type exactly this into a pane',
      about:
        'KEY is enter, tab, escape, up, ctrl-c and the like; keys come after the text. TEXT may be - for stdin or @file.',
      takes: [1, 2],
      options: {
        key: { type: 'string', value: 'KEY', multiple: true, help: 'a key, such as enter or ctrl-c; repeatable' },
      },
      examples: [[`nerve wezterm send 3 'npm test' --key enter`, 'a command line']],
    }),
    pane('read', {
      usage: 'PANE [--above N]',
      summary: 'print what a pane shows',
      takes: [1, 1],
      options: { above: { type: 'string', value: 'N', help: 'also so many lines above the screen (default 0)' } },
      examples: [['nerve wezterm read 3 --above 100', 'the screen and what was scrolled out']],
    }),
    pane('kill', {
      usage: 'PANE',
      summary: 'end a pane',
      takes: [1, 1],
      examples: [['nerve wezterm kill 3', 'one that is gone already is no error']],
    }),
  ],
}
