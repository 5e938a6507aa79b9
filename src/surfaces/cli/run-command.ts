/** `nerve run`, and the commands that start a run as it does, as data. Like command-table.ts, it loads nothing. */
import type { CommandSpec, OptionSpec } from './command-spec.ts'

export const BUDGET: OptionSpec = {
  type: 'string',
  value: 'usd=2,tokens=100k',
  help: 'limits: usd, tokens, calls, steps, seconds (also 90s, 2m), depth; k and m multiply',
}

export const DRIVES =
  'The run belongs to the daemon: at a terminal, one is started when none runs. It is shown here until it ends or waits for somebody; ' +
  'Ctrl-Z leaves it running. Without a daemon, as in a pipe, it goes on in this process.'

export const START_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  input: {
    type: 'string',
    value: 'JSON|text',
    help: 'the input: JSON if it parses, else text; - reads stdin, @file a file',
  },
  param: {
    type: 'string',
    value: 'k=v',
    multiple: true,
    help: 'a parameter, JSON if it parses, else text; repeatable',
  },
  budget: BUDGET,
  detach: { type: 'boolean', help: 'leave it to the daemon: prints the run and returns at once' },
  yes: { type: 'boolean', help: 'answer questions that have choices with the first one' },
}

export const RUN: CommandSpec = {
  name: 'run',
  usage: 'FILE [--input JSON|text] [--param k=v …] [--budget …] [--detach] [--yes]',
  summary: 'start a workflow and drive it',
  about:
    'FILE is a .ts or .js file that exports a workflow or a graph, with no build, or a .yaml or .json spec. ' +
    'On a terminal, questions are asked right there; without one the run parks and tells how to answer. ' +
    `Ctrl-C once pauses and parks the run, twice cancels it. ${DRIVES}`,
  takes: [1, 1],
  options: START_OPTIONS,
  examples: [
    [`nerve run publish.ts --input '{"topic":"otters"}'`, 'start with a JSON input'],
    ['nerve run publish.ts --input otters --budget usd=2,tokens=100k', 'start with a text and a budget'],
    ['nerve run flow.yaml', 'start a spec'],
    ['cat notes.md | nerve run publish.ts --input - --detach', 'input from stdin, in the background'],
  ],
  drives: true,
  load: () => import('./commands/run.ts'),
}
