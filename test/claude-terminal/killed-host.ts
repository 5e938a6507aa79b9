/** A process with a Claude in a terminal, for its test to kill: `node killed-host.ts OPTIONS PROMPT PROMPT`. */
import { claudeTerminal, type ClaudeTerminalOptions } from 'nerve/claude-terminal'

const [, , options = '{}', first = '', second = ''] = process.argv
const node = claudeTerminal('coder', JSON.parse(options) as ClaudeTerminalOptions)
await node.execute(first)
process.stdout.write(`${node.info().pid}\n`)
await node.execute(second)
