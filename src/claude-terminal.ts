/** The door to Claude Code in a terminal. */
export {
  claudeTerminal,
  type ClaudeInput,
  type ClaudeTerminalInfo,
  type ClaudeTerminalNode,
} from './nodes/claude-terminal/claude-terminal.ts'
export type { ClaudeTerminalOptions, PermissionMode } from './nodes/claude-terminal/claude-options.ts'
export type { ClaudeResult, ClaudeRule } from './nodes/claude-terminal/claude-result.ts'
export type { ClaudeCall } from './nodes/claude-terminal/claude-turn.ts'
