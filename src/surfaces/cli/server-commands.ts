/** The commands of `nerve server` as data. Like command-table.ts, it loads nothing. */
import type { CommandSpec, OptionSpec } from './command-spec.ts'

const load = () => import('./commands/server.ts')

const LISTENING: Readonly<Record<string, OptionSpec>> = {
  http: {
    type: 'string',
    value: 'PORT',
    help: 'an HTTP port on 127.0.0.1 as well, for callers with a token; 0: a free one',
  },
  host: {
    type: 'string',
    value: 'ADDRESS',
    help: 'the address for --http; one that others can reach needs --beyond-loopback',
  },
  'beyond-loopback': {
    type: 'boolean',
    help: 'yes, other machines may reach it. There is no TLS: put a proxy before it',
  },
  name: {
    type: 'string',
    value: 'HOST',
    multiple: true,
    help: 'another name by which it is called in addresses; repeatable',
  },
  origin: { type: 'string', value: 'URL', multiple: true, help: 'pages from there may use it; repeatable' },
  expose: {
    type: 'string',
    value: 'NAMES',
    multiple: true,
    help: 'workflows that models see as tools of their own at /mcp: all, or names with commas; repeatable',
  },
  idle: { type: 'string', value: '10m', help: 'end after this time in which nobody needed it (default: never)' },
}

const START: CommandSpec = {
  name: 'server start',
  usage: '[--foreground] [--http PORT] [--idle 10m]',
  summary: 'start the daemon of this project',
  about:
    'The daemon owns the runs, and takes up every one that was left; commands, programs and people attach and leave. It listens at ' +
    '.nerve/nerve.sock, which only you can open. At a terminal, commands that start or drive a run start it by themselves; that one ends ' +
    'after ten minutes without use. It has the environment of the terminal that started it.',
  takes: [0, 0],
  options: { foreground: { type: 'boolean', help: 'in this process, until Ctrl-C' }, ...LISTENING },
  examples: [
    ['nerve server start', 'in the background'],
    [
      'nerve server start --http 4400',
      'also for curl, browsers, phones and MCP, with a token: nerve token show default',
    ],
    ['nerve server start --foreground', 'for systemd, launchd, a container or a look at it'],
  ],
  load,
}

const STOP: CommandSpec = {
  name: 'server stop',
  usage: '[--force]',
  summary: 'stop the daemon; its runs wait for the next one',
  about:
    'Nothing new starts, steps that run have ten seconds to finish, and what is left is taken up by the next daemon, or by ' +
    '`nerve resume --all`. Exits with 0 also when none runs.',
  takes: [0, 0],
  options: { force: { type: 'boolean', help: 'kill it: steps that run are lost, and run again' } },
  examples: [['nerve server stop', 'before a reboot, or to change its environment']],
  load,
}

const RESTART: CommandSpec = {
  name: 'server restart',
  usage: '[--http PORT] [--idle 10m]',
  summary: 'stop the daemon and start it with the environment of this terminal',
  about: 'It listens as it did before, unless an option says otherwise.',
  takes: [0, 0],
  options: LISTENING,
  examples: [['OPENAI_API_KEY=… nerve server restart', 'its runs go on with another key']],
  load,
}

const STATUS: CommandSpec = {
  name: 'server status',
  usage: '',
  summary: 'tell whether the daemon runs, where, and what it does',
  about: 'Exits with 1 when none runs.',
  takes: [0, 0],
  examples: [['nerve server status --json', 'process, version, socket, address, open runs and questions']],
  load,
}

const LOGS: CommandSpec = {
  name: 'server logs',
  usage: '[--lines N] [--follow]',
  summary: 'print what the daemon and the workflows in it have printed',
  takes: [0, 0],
  options: {
    lines: { type: 'string', value: 'N', help: 'how many of the last lines (default 100)' },
    follow: { type: 'boolean', help: 'go on with what comes, until Ctrl-C' },
  },
  examples: [['nerve server logs --follow', 'console.log of workflows is there too']],
  load,
}

export const SERVER: CommandSpec = {
  name: 'server',
  usage: 'VERB …',
  summary: 'the daemon that owns the runs: start, stop, restart, status, logs',
  takes: [0, 0],
  examples: [['nerve server start --http 4400', 'runs go on without any window, and are watched from anywhere']],
  verbs: [START, STOP, RESTART, STATUS, LOGS],
  load,
}
