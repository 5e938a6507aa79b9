/** The door to terminals. */
export {
  terminal,
  type TerminalCall,
  type TerminalInfo,
  type TerminalInput,
  type TerminalNode,
  type TerminalPart,
} from './nodes/terminal/terminal.ts'
export type { PaneOptions } from './nodes/panes/pane-options.ts'
export type { PaneKind } from './nodes/panes/pane-port.ts'
export type { PaneFacts } from './nodes/terminal/terminal-process.ts'
export type { TerminalScreen } from './nodes/terminal/terminal-screen.ts'
export type { TerminalState } from './nodes/terminal/terminal-keeper.ts'
export type { TerminalOptions } from './nodes/terminal/terminal-options.ts'
export type { ReadyRule, TerminalResult } from './nodes/terminal/terminal-result.ts'
