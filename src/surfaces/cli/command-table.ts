/** Every command as data. Nothing here may load anything else: `--help` reads only this. */
import { CALL } from './call-command.ts'
import type { CommandSpec, OptionSpec } from './command-spec.ts'
import { GATEWAY } from './gateway-commands.ts'
import { MCP } from './mcp-command.ts'
import { NODE } from './node-commands.ts'
import { GRAPH, SESSION, WEZTERM, WORKFLOW } from './project-commands.ts'
import { RALPH } from './ralph-command.ts'
import { BUDGET, DRIVES, RUN } from './run-command.ts'
import { SERVER } from './server-commands.ts'
import { COMPLETION, INIT, REPL } from './setup-commands.ts'
import { STATUSES } from './statuses.ts'
import { TOKEN } from './token-commands.ts'

export const GLOBAL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  json: { type: 'boolean', help: 'print JSON; an error is JSON on stderr' },
  dir: {
    type: 'string',
    value: 'FOLDER',
    help: 'the project folder (default: the nearest with .nerve; else with package.json or .git; else this one)',
  },
  local: { type: 'boolean', help: 'in this process, without the daemon (also NERVE_LOCAL=1)' },
  verbose: { type: 'boolean', help: 'show stack traces (also NERVE_DEBUG=1)' },
  help: { type: 'boolean', help: 'show this help' },
}

const verb = (name: string, summary: string, example: string, about?: string): CommandSpec => ({
  name,
  usage: 'RUN',
  summary,
  ...(about === undefined ? {} : { about }),
  takes: [1, 1],
  examples: [[`nerve ${name} last`, example]],
  load: () => import('./commands/verbs.ts'),
})

export const COMMANDS: readonly CommandSpec[] = [
  INIT,
  RUN,
  {
    name: 'ps',
    usage: '[--status STATUS] [--definition DEFINITION] [--limit N]',
    summary: 'list runs, newest first',
    takes: [0, 0],
    options: {
      status: {
        type: 'string',
        value: 'STATUS',
        values: STATUSES,
        multiple: true,
        help: 'only runs of this status, such as waiting or failed; several with commas',
      },
      definition: { type: 'string', value: 'DEFINITION', help: 'only runs of this definition' },
      limit: { type: 'string', value: 'N', help: 'how many (default 50)' },
    },
    examples: [
      ['nerve ps', 'what ran, runs, and waits here'],
      ['nerve ps --status waiting,failed', 'what needs somebody'],
    ],
    load: () => import('./commands/ps.ts'),
  },
  {
    name: 'show',
    usage: 'RUN [PATH]',
    summary: 'show a run: steps, times, errors, questions, cost; or one place in it',
    about:
      'RUN is an id, the beginning of one, or `last` for the newest run; so in every command. With PATH, the address of a step such as review/2/coach: what it was given, what it gave, and everything that happened there.',
    takes: [1, 2],
    examples: [
      ['nerve show last', 'the newest run'],
      ['nerve show last review/2/coach', 'what the coach was told in the second round, and what it said'],
    ],
    load: () => import('./commands/show.ts'),
  },
  {
    name: 'events',
    usage: 'RUN [--follow] [--after N]',
    summary: 'print the journal of a run',
    takes: [1, 1],
    options: {
      follow: { type: 'boolean', help: 'go on with what happens, until the run ends' },
      after: { type: 'string', value: 'N', help: 'only events after this sequence number' },
    },
    examples: [
      ['nerve events last --follow', 'watch a run that another process drives'],
      ['nerve events last --json | jq .type', 'one JSON object on each line'],
    ],
    load: () => import('./commands/events.ts'),
  },
  {
    name: 'attach',
    usage: 'RUN [--yes]',
    summary: 'watch a run that another process drives, and answer it',
    about:
      'Shows the run from its journal, and asks its questions right here when this is a terminal. q, Ctrl-Z or Ctrl-C leaves it alone: ' +
      'the run does not notice. When no process drives the run, an answer takes it into this one, as `nerve answer` does. ' +
      'Ends as the run does. Without a terminal to type at, it also ends where the run waits for an answer without a deadline, says how to give ' +
      'it, and exits with 3; with --json it goes on to the end of the run.',
    takes: [1, 1],
    options: { yes: { type: 'boolean', help: 'answer questions that have choices with the first one' } },
    examples: [
      ['nerve attach last', 'the newest run, as it goes'],
      ['nerve attach last --json', 'its events as JSON lines, with its children, and the result'],
    ],
    drives: true,
    load: () => import('./commands/attach.ts'),
  },
  {
    name: 'inbox',
    usage: '[--watch]',
    summary: 'list open questions',
    takes: [0, 0],
    options: { watch: { type: 'boolean', help: 'go on with questions as they are asked and answered, until Ctrl-C' } },
    examples: [
      ['nerve inbox', 'everything that waits for a person'],
      ['nerve inbox --watch --json', 'a line of JSON for each that is asked, and for each that is closed'],
    ],
    load: () => import('./commands/inbox.ts'),
  },
  {
    name: 'answer',
    usage: 'QUESTION VALUE',
    summary: 'answer a question',
    about:
      'QUESTION is an id from the inbox, the beginning of one, or `last`. VALUE is a choice by its label or number, or text; ' +
      'for a question with a schema it is JSON when it parses. When another process drives the run, it goes on there. ' +
      DRIVES,
    takes: [2, 2],
    examples: [
      ['nerve answer last publish', 'choose by label'],
      ['nerve answer 1kq3v9c5p2m4x7ab-9 1', 'choose by number'],
    ],
    drives: true,
    load: () => import('./commands/answer.ts'),
  },
  {
    name: 'signal',
    usage: 'RUN NAME [JSON]',
    summary: 'send a named value into a run',
    about: `The value is JSON when it parses, else text. When another process drives the run, it goes on there. ${DRIVES}`,
    takes: [2, 3],
    examples: [[`nerve signal last paid '{"amount":12}'`, 'for ctx.waitFor("paid")']],
    drives: true,
    load: () => import('./commands/answer.ts'),
  },
  verb('pause', 'let a run start nothing new', 'steps that run now are finished'),
  {
    name: 'resume',
    usage: 'RUN [--plan | --accept | --from PATH] [--budget …] | --all',
    summary: 'drive a run on',
    about:
      'Goes on after a pause, a crash, a spent budget or parking. When the code has changed since, nothing is guessed: ' +
      `the plan is shown, and --accept or --from PATH goes on. ${DRIVES}`,
    takes: [0, 1],
    options: {
      all: { type: 'boolean', help: 'drive on every run that a dead process left, and every one whose time has come' },
      plan: { type: 'boolean', help: 'only show what the current code would keep and re-run' },
      accept: { type: 'boolean', help: 'go on over changed code as the plan says' },
      from: { type: 'string', value: 'PATH', help: 'forget what is recorded at PATH and after it' },
      budget: BUDGET,
    },
    examples: [
      ['nerve resume last', 'go on'],
      ['nerve resume last --budget usd=5', 'go on with a larger budget'],
      ['nerve resume last --plan', 'what changed code would do'],
      ['nerve resume --all', 'after a crash or a reboot'],
    ],
    drives: true,
    load: () => import('./commands/resume.ts'),
  },
  verb('interrupt', 'stop the steps that run now', 'their policy decides: try again, fall back, or fail'),
  verb('cancel', 'end a run for good', 'aborts everything that runs in it'),
  {
    name: 'fork',
    usage: 'RUN --at PATH [--set PATH=JSON …]',
    summary: 'start a new run from a place in an old one',
    about: `What was recorded before PATH is shared; PATH itself runs again. PATH may be a sequence number. ${DRIVES}`,
    takes: [1, 1],
    options: {
      at: { type: 'string', value: 'PATH', help: 'where to go on from (a path from `show`, or a sequence number)' },
      set: { type: 'string', value: 'PATH=JSON', multiple: true, help: 'replace a recorded result; repeatable' },
    },
    examples: [
      ['nerve fork last --at write', 'run the step `write` and what follows again'],
      [`nerve fork last --at publish --set 'write="a better text"'`, 'with another result before it'],
    ],
    drives: true,
    load: () => import('./commands/fork.ts'),
  },
  {
    name: 'replay',
    usage: 'RUN [FILE]',
    summary: 'test the current code against a recorded run',
    about:
      'Runs the code over the journal with no effects. Exits with 0 when it does what is recorded, with 1 when not.',
    takes: [1, 2],
    examples: [['nerve replay last', 'does the code still do what it did?']],
    load: () => import('./commands/replay.ts'),
  },
  {
    name: 'export',
    usage: 'RUN',
    summary: 'print a run and its children as a file',
    about: 'The file is JSON lines, with and without --json.',
    takes: [1, 1],
    examples: [['nerve export last > run.jsonl', 'for another machine, or as a test']],
    load: () => import('./commands/transfer.ts'),
  },
  {
    name: 'import',
    usage: 'FILE',
    summary: 'read an exported run; it starts nothing',
    takes: [1, 1],
    examples: [['nerve import run.jsonl', '- reads stdin']],
    load: () => import('./commands/transfer.ts'),
  },
  {
    name: 'audit',
    usage: '[RUN] [--limit N]',
    summary: 'list who answered, cancelled, started … what, newest first',
    about:
      'From the journals: started, forked, answered, signalled, paused, resumed, interrupted, cancelled, budget-raised, plan-accepted; ' +
      'with who did it, and through what. RUN tells of one run and what it started.',
    takes: [0, 1],
    options: { limit: { type: 'string', value: 'N', help: 'how many (default 50)' } },
    examples: [
      ['nerve audit', 'what people and programs did here'],
      ['nerve audit last --json', 'of one run, as JSON lines'],
    ],
    load: () => import('./commands/audit.ts'),
  },
  {
    name: 'explain',
    usage: 'FILE [--mermaid]',
    summary: 'tell what a file holds, without running it',
    about:
      'Graphs, state graphs, control nodes and specs show their steps. A workflow is an async function: its steps are known ' +
      'when it runs.',
    takes: [1, 1],
    options: { mermaid: { type: 'boolean', help: 'draw it: print a Mermaid flowchart and nothing else' } },
    examples: [
      ['nerve explain publish.ts', 'name, input, budget, parameters, steps'],
      ['nerve explain flow.yaml --mermaid > flow.mmd', 'a drawing'],
    ],
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'validate',
    usage: 'FILE',
    summary: 'tell everything that is wrong with a file',
    about:
      'Each problem of a spec is told with its line and column. Runs nothing; files of nodes that a spec names are loaded. ' +
      'Exits with 1 when something is wrong.',
    takes: [1, 1],
    examples: [
      ['nerve validate flow.yaml', 'before it is run, or in CI'],
      ['nerve validate flow.yaml --json', 'for editors and programs'],
    ],
    load: () => import('./commands/validate.ts'),
  },
  SERVER,
  GRAPH,
  WORKFLOW,
  NODE,
  SESSION,
  WEZTERM,
  REPL,
  GATEWAY,
  TOKEN,
  MCP,
  CALL,
  RALPH,
  {
    name: 'extract',
    usage: '[FILE] [--parser NAME] [--section TYPE] [--last]',
    summary: 'tell what the screen of an agent says',
    about:
      'FILE holds what a terminal showed, with escapes in it or without; - or nothing reads stdin. Prints the replies, thoughts ' +
      'and calls of tools on it. With --json also the state (ready, busy, asking, permission, unknown), the question and the tokens.',
    takes: [0, 1],
    options: {
      parser: {
        type: 'string',
        value: 'NAME',
        help: 'whose screen it is: claude (default), gemini, none',
        values: ['claude', 'gemini', 'none'],
      },
      section: {
        type: 'string',
        value: 'TYPE',
        help: 'only sections of this type: text, thinking, tool',
        values: ['text', 'thinking', 'tool'],
      },
      last: { type: 'boolean', help: 'only the last section' },
    },
    examples: [
      ['nerve extract screen.txt --section text --last', 'the last thing that Claude said'],
      ['tmux capture-pane -p | nerve extract --json', 'the state and everything else of a pane'],
      ['nerve extract screen.txt --parser gemini --section tool', 'the calls of tools, with their results'],
    ],
    load: () => import('./commands/extract.ts'),
  },
  {
    name: 'trust',
    usage: '[DIR] [--revoke | --list]',
    summary: 'trust a project: its project file and its workflows may be loaded',
    about:
      'The project file, the files in the folder workflows, and what is recorded in a .nerve that was copied from elsewhere are code ' +
      'that no command names, so none of it runs before somebody has trusted the project: at the question on a terminal, or with this. ' +
      'Trust holds for the folder, also when its files change, until it is revoked. In CI: NERVE_TRUST=1.',
    takes: [0, 1],
    options: {
      revoke: { type: 'boolean', help: 'take it back' },
      list: { type: 'boolean', help: 'list everything that is trusted' },
    },
    examples: [
      ['nerve trust', 'this project'],
      ['nerve trust --list', 'all, and whether they have changed since'],
    ],
    load: () => import('./commands/trust.ts'),
  },
  {
    name: 'gc',
    usage: '--older-than 30d',
    summary: 'remove runs that ended long ago',
    takes: [0, 0],
    options: { 'older-than': { type: 'string', value: '30d', help: 'how long ago they ended (s, m, h, d, w)' } },
    examples: [['nerve gc --older-than 30d', 'runs that have not ended are never removed']],
    load: () => import('./commands/gc.ts'),
  },
  {
    name: 'doctor',
    usage: '',
    summary: 'check Node, the database and what was left behind',
    about: 'Changes nothing. Exits with 1 when something is wrong.',
    takes: [0, 0],
    examples: [['nerve doctor', 'when something is odd']],
    load: () => import('./commands/doctor.ts'),
  },
  COMPLETION,
]
