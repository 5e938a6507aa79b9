/** The commands of `nerve gateway` as data. Like command-table.ts, it loads nothing. */
import type { CommandSpec } from './command-spec.ts'

const load = () => import('./commands/gateway.ts')

const START: CommandSpec = {
  name: 'gateway start',
  usage: '--script FILE | --provider NAME | --replay FOLDER [--record FOLDER] [--port N]',
  summary: 'start a gateway and tell how to point agents at it',
  about:
    'It runs in this process until Ctrl-C, on 127.0.0.1, and takes only calls with its token: NERVE_GATEWAY_TOKEN if that is set, ' +
    'else a new one, which it prints. Keys of providers come from the environment.',
  takes: [0, 0],
  options: {
    script: { type: 'string', value: 'FILE', help: 'answer from a script: .yaml, .json, or .ts with a default export' },
    provider: {
      type: 'string',
      value: 'NAME',
      help: 'pass calls on to anthropic, openai, openrouter, glm, gemini, or any with --url',
      values: ['anthropic', 'openai', 'openrouter', 'glm', 'gemini'],
    },
    url: { type: 'string', value: 'URL', help: 'where the provider is' },
    format: {
      type: 'string',
      value: 'FORMAT',
      help: 'what it speaks: anthropic, openai-chat, openai-responses, gemini',
      values: ['anthropic', 'openai-chat', 'openai-responses', 'gemini'],
    },
    key: { type: 'string', value: 'VARIABLE', help: 'the environment variable that has its key' },
    model: { type: 'string', value: 'MODEL', help: 'ask for this model, whatever clients ask for' },
    replay: { type: 'string', value: 'FOLDER', help: 'answer with what was recorded, and with nothing else' },
    record: { type: 'string', value: 'FOLDER', help: 'keep what is answered, without secrets' },
    port: { type: 'string', value: 'N', help: 'the port (default: a free one)' },
  },
  examples: [
    ['nerve gateway start --script demo.yaml --port 4010', 'a model that follows a script: no key, no network'],
    ['nerve gateway start --provider anthropic --record calls', 'the real one, recorded'],
    ['nerve gateway start --provider local --url http://127.0.0.1:11434/v1', 'any that speaks OpenAI’s format'],
  ],
  load,
}

const STATUS: CommandSpec = {
  name: 'gateway status',
  usage: '',
  summary: 'list the gateways that run in this project',
  takes: [0, 0],
  examples: [['nerve gateway status', 'where they are, and how many calls are open']],
  load,
}

const LOG: CommandSpec = {
  name: 'gateway log',
  usage: '[--limit N] [--run RUN]',
  summary: 'list the calls of models, newest last',
  takes: [0, 0],
  options: {
    limit: { type: 'string', value: 'N', help: 'how many (default 50)' },
    run: { type: 'string', value: 'RUN', help: 'only those of one run' },
  },
  examples: [
    ['nerve gateway log', 'who asked which model, what came of it, what it cost'],
    ['nerve gateway log --json | jq .usd', 'one JSON object on each line'],
  ],
  load,
}

const SHOW: CommandSpec = {
  name: 'gateway show',
  usage: 'EXCHANGE',
  summary: 'show one call: what was asked and what was answered',
  about:
    'EXCHANGE is an id from the log, the beginning of one, or `last`. Long texts are cut, and secrets are taken out.',
  takes: [1, 1],
  examples: [['nerve gateway show last', 'the newest one']],
  load,
}

export const GATEWAY: CommandSpec = {
  name: 'gateway',
  usage: 'VERB …',
  summary: 'the model gateway: start, status, log, show',
  about:
    'A gateway speaks the formats of model providers to agents and programs on this machine: it answers from a script or a recording, or ' +
    'passes calls on, counts what they cost, and keeps a log.',
  takes: [0, 0],
  examples: [
    ['nerve gateway start --script demo.yaml', 'a model without a key'],
    ['nerve gateway log', 'what was asked'],
  ],
  load,
  verbs: [START, STATUS, LOG, SHOW],
}
