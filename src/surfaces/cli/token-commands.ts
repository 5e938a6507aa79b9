/** The commands of `nerve token` as data. Like command-table.ts, it loads nothing. */
import type { CommandSpec, OptionSpec } from './command-spec.ts'

const load = () => import('./commands/token.ts')

const SCOPE: OptionSpec = {
  type: 'string',
  value: 'SCOPE',
  help: 'read looks, answer also answers and signals, control does everything',
  values: ['read', 'answer', 'control'],
}

const verb = (name: string, summary: string, meaning: string): CommandSpec => ({
  name: `token ${name}`,
  usage: 'NAME',
  summary,
  takes: [1, 1],
  examples: [[`nerve token ${name} phone`, meaning]],
  load,
})

export const TOKEN: CommandSpec = {
  name: 'token',
  usage: 'VERB …',
  summary: 'tokens for TCP and HTTP: list, create, rotate, revoke, show',
  about:
    'Who comes over TCP or HTTP needs a token; the unix socket needs none. What is changed holds at once, also for a server ' +
    'that runs. The tokens are in .nerve/tokens.json, which only you can read.',
  takes: [0, 0],
  examples: [
    ['nerve token create phone --scope answer', 'for a phone that answers questions'],
    ['nerve token list', 'their names and scopes, never their secrets'],
  ],
  load,
  verbs: [
    {
      name: 'token list',
      usage: '',
      summary: 'list tokens, without their secrets',
      takes: [0, 0],
      examples: [['nerve token list', 'names, scopes, ages']],
      load,
    },
    {
      name: 'token create',
      usage: 'NAME --scope SCOPE',
      summary: 'make a token and print its secret',
      about:
        'The name is what the journals say about who did something. The first token of a project brings along `default`, which may ' +
        'do everything.',
      takes: [1, 1],
      options: { scope: SCOPE },
      examples: [
        ['nerve token create phone --scope answer', 'answers questions and sends signals'],
        ['nerve token create wall --scope read --json', 'for a program to read'],
      ],
      load,
    },
    verb('rotate', 'give a token another secret and print it', 'the old secret is refused from now on'),
    verb('revoke', 'refuse a token for good', 'also on connections that are open'),
    verb('show', 'print the secret of a token', 'to type it in once more'),
  ],
}
