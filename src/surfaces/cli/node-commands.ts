/** The commands of `nerve node` as data. Like command-table.ts, it loads nothing. */
import type { CommandSpec, OptionSpec } from './command-spec.ts'

const SESSION: OptionSpec = {
  type: 'string',
  value: 'NAME',
  help: 'the session that it is in (default: the one that has it, else `default`)',
}

const LIVES =
  'A terminal on a PTY lives in the process that started it: in the daemon, where one runs (nerve server start), until that ends. ' +
  'One that was made with --in tmux lives on without it.'

type Verb = Omit<CommandSpec, 'load' | 'takes' | 'options' | 'name'> & {
  readonly verb: string
  readonly takes?: CommandSpec['takes']
  readonly options?: CommandSpec['options']
}

function verb(load: CommandSpec['load'], { verb: name, takes = [1, 1], options, ...rest }: Verb): CommandSpec {
  return { ...rest, name: `node ${name}`, takes, options: { ...options, session: SESSION }, load }
}

const keeping = () => import('./commands/node-keeping.ts')
const looking = () => import('./commands/node-looking.ts')
const using = () => import('./commands/node-using.ts')
const executing = () => import('./commands/node-execute.ts')

const LOOKING: readonly CommandSpec[] = [
  verb(looking, {
    verb: 'list',
    usage: '[--session NAME]',
    summary: 'list the nodes of the project',
    takes: [0, 0],
    examples: [['nerve node list', 'what is recorded, and what nerve.config.ts says']],
  }),
  verb(looking, {
    verb: 'show',
    usage: 'NAME',
    summary: 'show a node: its kind, session, configuration and lineage',
    examples: [['nerve node show build', 'secrets are not recorded, and not shown']],
  }),
  verb(looking, {
    verb: 'history',
    usage: 'NAME [--last N] [--operation OP] [--since TIME] [--inputs]',
    summary: 'print what a node saw and did',
    options: {
      last: { type: 'string', value: 'N', help: 'only so many lines, the latest' },
      operation: {
        type: 'string',
        value: 'OP',
        multiple: true,
        help: 'only send, stream, write, run, read, interrupt or close; repeatable',
        values: ['send', 'stream', 'write', 'run', 'read', 'interrupt', 'close'],
      },
      since: { type: 'string', value: 'TIME', help: 'only from then on: a duration ago (10m, 2d) or a date' },
      inputs: { type: 'boolean', help: 'only what went in' },
    },
    examples: [
      ['nerve node history shell --last 20', 'the latest lines'],
      ['nerve node history shell --since 1h --inputs --json', 'JSON lines of what was typed'],
    ],
  }),
  verb(looking, {
    verb: 'forks',
    usage: '[NAME]',
    summary: 'show what was copied from what',
    takes: [0, 1],
    examples: [['nerve node forks', 'the tree of all copies']],
  }),
]

const KEEPING: readonly CommandSpec[] = [
  verb(keeping, {
    verb: 'create',
    usage: 'NAME --kind KIND [--command …] [--set field=value …] [--config JSON] [--session NAME]',
    summary: 'record a node in a session of the project',
    about:
      'KIND is bash, http, identity, mcp, terminal, claude-terminal, or what nerve.config.ts registers. Nothing starts: a node starts when it is ' +
      'first used. Defaults of nerve.config.ts are laid under what is given. Secrets are refused, because they would have ' +
      'to be recorded: let the node take them from the environment (--set inherit=…), or make it in nerve.config.ts.',
    options: {
      kind: {
        type: 'string',
        value: 'KIND',
        help: 'what it is',
        values: ['bash', 'http', 'identity', 'mcp', 'terminal', 'claude-terminal'],
      },
      command: { type: 'string', value: 'TEXT', help: 'bash: what is run, if not the input; terminal: the program' },
      cwd: { type: 'string', value: 'FOLDER', help: 'where it works (default: the project folder)' },
      timeout: { type: 'string', value: '30s', help: 'how long it may take each time' },
      url: { type: 'string', value: 'URL', help: 'http: where to' },
      method: { type: 'string', value: 'GET', help: 'http: the method' },
      in: {
        type: 'string',
        value: 'tmux',
        help: 'terminal: a pane that lives on when this process ends',
        values: ['tmux'],
      },
      set: {
        type: 'string',
        value: 'field=value',
        multiple: true,
        help: 'any other field; JSON if it parses, else text',
      },
      config: { type: 'string', value: 'JSON', help: 'all fields at once, as an object' },
    },
    examples: [
      [`nerve node create build --kind bash --command 'npm run build'`, 'a command'],
      ['nerve node create shell --kind terminal --in tmux', 'a shell that lives on'],
      [
        `nerve node create api --kind http --url https://example.com --set 'headers={"accept":"text/plain"}'`,
        'a request',
      ],
    ],
  }),
  verb(keeping, {
    verb: 'fork',
    usage: 'NAME [AS]',
    summary: 'record a copy of a node',
    takes: [1, 2],
    examples: [['nerve node fork shell', 'under a free name: shell-fork-1']],
  }),
  verb(keeping, {
    verb: 'remove',
    usage: 'NAME',
    summary: 'take a node out of its session',
    about: 'A terminal that lives on is ended. What it saw and did stays in its history.',
    examples: [['nerve node remove build', 'what nerve.config.ts says stays']],
  }),
]

const USING: readonly CommandSpec[] = [
  verb(executing, {
    verb: 'execute',
    usage: 'NAME [INPUT]',
    summary: 'execute a node and print its result',
    about:
      'It is a run like any other, with a journal: `nerve ps` shows it. INPUT is text for shells and terminals; for other nodes ' +
      'JSON when it parses; - reads stdin, @file a file. What a command prints is shown as it comes. Ctrl-C interrupts the node.',
    takes: [1, 2],
    drives: true,
    examples: [
      ['nerve node execute build', 'a node that has its command'],
      [`nerve node execute shell 'npm test'`, 'a command line for a shell or a terminal'],
      [`nerve node execute api --json | jq .output.status`, 'the whole result'],
    ],
  }),
  verb(using, {
    verb: 'run',
    usage: 'NAME LINE',
    summary: 'type a line into a terminal, and do not wait',
    about: LIVES,
    takes: [2, 2],
    examples: [[`nerve node run shell 'tail -f app.log'`, 'then: nerve node read shell']],
  }),
  verb(using, {
    verb: 'write',
    usage: 'NAME [TEXT] [--key KEY …]',
    summary: 'type exactly this into a terminal',
    about: `${LIVES} KEY is enter, tab, escape, space, backspace, delete, up, down, left, right, home, end, pageup, pagedown or ctrl-LETTER; keys come after the text.`,
    takes: [1, 2],
    options: {
      key: { type: 'string', value: 'KEY', multiple: true, help: 'a key, such as enter or ctrl-c; repeatable' },
    },
    examples: [
      ['nerve node write shell y --key enter', 'answers a question'],
      ['nerve node write editor --key escape --key ctrl-c', 'only keys'],
    ],
  }),
  verb(using, {
    verb: 'read',
    usage: 'NAME [--tail N | --screen | --follow]',
    summary: 'print what a terminal shows',
    about: LIVES,
    options: {
      tail: { type: 'string', value: 'N', help: 'only the last lines' },
      screen: { type: 'boolean', help: 'the screen as it is now' },
      follow: { type: 'boolean', help: 'what it prints from now on, until Ctrl-C or the end of its program' },
    },
    examples: [
      ['nerve node read shell --tail 20', 'the last lines'],
      ['nerve node read shell --follow', 'watch it while something else uses it'],
    ],
  }),
  verb(using, {
    verb: 'interrupt',
    usage: 'NAME',
    summary: 'stop what a node is doing: Ctrl-C',
    about: 'Also when another process executes it.',
    examples: [['nerve node interrupt shell', 'the node stays']],
  }),
  verb(using, {
    verb: 'reset',
    usage: 'NAME',
    summary: 'start a terminal again',
    about: LIVES,
    examples: [['nerve node reset shell', 'as new']],
  }),
  verb(using, {
    verb: 'stop',
    usage: 'NAME',
    summary: 'end a terminal and everything that it started',
    about: LIVES,
    examples: [['nerve node stop shell', 'it starts again when it is used']],
  }),
]

export const NODE: CommandSpec = {
  name: 'node',
  usage: 'VERB …',
  summary: 'nodes of the project: create, list, execute, read, fork …',
  about:
    'Nodes are in a session, and recorded with it; those of nerve.config.ts are known too. Definitions that `nerve run` starts can ' +
    'refer to all of them by name.',
  takes: [0, 0],
  examples: [
    [`nerve node create build --kind bash --command 'npm run build'`, 'record one'],
    ['nerve node execute build', 'use it'],
    ['nerve help node create', 'more about a verb'],
  ],
  load: looking,
  verbs: [...KEEPING.slice(0, 1), ...LOOKING.slice(0, 2), ...USING, ...LOOKING.slice(2), ...KEEPING.slice(1)],
}
