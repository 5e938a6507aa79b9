/** `nerve mcp` as data. Like command-table.ts, it loads nothing. */
import type { CommandSpec } from './command-spec.ts'

export const MCP: CommandSpec = {
  name: 'mcp',
  usage: '[--expose all|NAME,…] [--read-only] [--wait 50s]',
  summary: 'offer this project to agents, as an MCP server on stdin and stdout',
  about:
    'For Claude Code, Codex, editors and every other MCP client: tools to start runs, to wait for them, to answer their questions and to use ' +
    'nodes; runs are resources. What a run asks is asked in the client, when the client can. The client starts this command and ' +
    'ends it. A nerve.config.ts has to be trusted before: nerve trust.',
  takes: [0, 0],
  options: {
    expose: {
      type: 'string',
      value: 'NAMES',
      multiple: true,
      help: 'workflows that are tools of their own: all, or names with commas; repeatable',
    },
    'read-only': { type: 'boolean', help: 'offer only what looks and changes nothing' },
    wait: {
      type: 'string',
      value: '50s',
      help: 'how long a call waits for its run (default 50s), when it does not say',
    },
  },
  examples: [
    ['claude mcp add nerve -- nerve mcp --expose all', 'for Claude Code, in the folder of the project'],
    ['codex mcp add nerve -- nerve mcp --dir /path/to/project', 'for Codex'],
    [
      'nerve mcp --expose publish,review',
      'what other clients start: command nerve, arguments mcp --expose publish,review',
    ],
  ],
  load: () => import('./commands/mcp.ts'),
}
