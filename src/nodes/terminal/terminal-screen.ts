/** What somebody sees of a terminal. Apart from its model: whoever uses the type needs no package for it. */
export interface TerminalScreen {
  readonly columns: number
  /** The rows from top to bottom, without spaces at their ends. */
  readonly rows: readonly string[]
  readonly cursor: { readonly row: number; readonly column: number; readonly visible: boolean }
  readonly title: string
  /** True while a full-screen program (vim, less) has the screen. */
  readonly alternate: boolean
}
