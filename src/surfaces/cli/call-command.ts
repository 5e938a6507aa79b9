/** `nerve call` as data. Like command-table.ts, it loads nothing, so the names are not here: the contract has them. */
import type { CommandSpec } from './command-spec.ts'

export const CALL: CommandSpec = {
  name: 'call',
  usage: '[NAME] [INPUT] [--param k=v …] [--schema]',
  summary: 'ask anything that programs can ask, by its name; alone, list the names',
  about:
    'NAME is a command, a query or a feed of the contract that every client has: runs.start, usage, events. INPUT is an object of fields ' +
    'as JSON; - reads stdin, @file a file. The daemon is asked when one runs. Without one it is done in this process, which ends when ' +
    'the runs that it drives rest. A feed prints a line for each item, until it ends or Ctrl-C; `after` is where it goes on.',
  takes: [0, 2],
  options: {
    param: {
      type: 'string',
      value: 'k=v',
      multiple: true,
      help: 'a field; as text where the field is a text, else JSON if it parses; lists also with commas; repeatable',
    },
    schema: { type: 'boolean', help: 'show what it takes and gives, and do nothing' },
  },
  examples: [
    ['nerve call', 'what there is, and the scope that a token needs for it'],
    ['nerve call runs.list --schema', 'its fields; with --json as JSON Schemas'],
    ['nerve call runs.list --param status=waiting,failed --param limit=5', 'the fields one by one'],
    [`nerve call runs.start '{"definition":"hello","input":"Ada"}'`, 'the fields as JSON'],
    ['nerve call definitions.create @made.json', 'the fields in a file'],
    ['nerve call events --json', 'what happens from now on, as JSON lines'],
  ],
  load: () => import('./commands/call.ts'),
}
