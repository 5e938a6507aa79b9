/** `nerve ralph`, as data. */
import type { CommandSpec } from './command-spec.ts'

export const RALPH: CommandSpec = {
  name: 'ralph',
  usage: 'TASK --agent NAME [--test CMD] [--max N] [--budget …] [--detach] [--yes] [--sandbox] [--pr]',
  summary: 'let an agent work on a task until its tests pass',
  about:
    'Research, a spec that you approve, a list of features, and one after the other until the tests pass. It works in this ' +
    'folder. It stops when the tests pass, at --max, or when its budget is spent, and says which. It commits and pushes ' +
    'nothing without --pr. A run that was left or has spent its budget goes on with `nerve resume`. It ends ' +
    'with 0 when the tests pass, and with 1 when they do not.',
  takes: [1, 1],
  options: {
    agent: {
      type: 'string',
      value: 'NAME',
      help: 'claude, codex, copilot, opencode, gemini, or scripted (no model)',
      values: ['claude', 'codex', 'copilot', 'opencode', 'gemini', 'scripted'],
    },
    test: { type: 'string', value: 'CMD', help: 'the command whose success is the evidence (default: npm test)' },
    max: { type: 'string', value: 'N', help: 'how often it may implement something (default 10)' },
    budget: {
      type: 'string',
      value: 'usd=2,tokens=100k',
      help: 'limits: usd, tokens, calls, steps, seconds (also 90s, 2m), depth; k and m multiply',
    },
    model: { type: 'string', value: 'NAME', help: 'the model of the agent' },
    cwd: { type: 'string', value: 'FOLDER', help: 'where it works (default: here)' },
    detach: { type: 'boolean', help: 'leave it to the daemon: prints the run and returns at once' },
    yes: { type: 'boolean', help: 'approve the spec, and allow every tool' },
    sandbox: {
      type: 'boolean',
      help: 'the agent and the tests write only in this folder, and see no keys (needs bubblewrap)',
    },
    pr: { type: 'boolean', help: 'when the tests pass: commit on a branch, push it, open a pull request with gh' },
  },
  examples: [
    ['nerve ralph "fix the failing test" --agent claude --budget usd=2', 'stops at two dollars'],
    ['nerve ralph "add a --dry-run flag" --agent codex --test "npm test" --yes --pr', 'alone, up to a pull request'],
    ["nerve ralph 'make it: `touch done`' --agent scripted --test 'test -e done' --yes", 'try it without a model'],
  ],
  drives: true,
  load: () => import('./commands/ralph.ts'),
}
