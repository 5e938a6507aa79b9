/**
 * What Nerve needs of a terminal multiplexer: panes that can be made, listed, typed into, looked at, shown to a person and
 * ended. One suite (test/terminal/panes) holds every implementation to it.
 *
 * A pane belongs to its multiplexer: it goes on when this process ends.
 */

export type PaneKind = 'tmux' | 'wezterm' | 'kitty'

export interface PaneWish {
  readonly cwd: string
  readonly cols: number
  readonly rows: number
  readonly file: string
  readonly args: readonly string[]
}

export interface PaneInfo {
  readonly id: string
  readonly cols: number
  readonly rows: number
  readonly title: string
  readonly cwd?: string
  /** True when a person who looks at its window sees it. */
  readonly active: boolean
}

/** What can be seen in a pane, as text. */
export interface PaneView {
  /** The lines that were scrolled out and those on the screen, as long as they were written where that is known. */
  readonly lines: readonly string[]
  /** The screen from top to bottom. */
  readonly rows: readonly string[]
  readonly cursor: { readonly row: number; readonly column: number; readonly visible: boolean }
}

export interface PanePort {
  readonly kind: PaneKind
  /** Starts a program in a new pane, and gives the pane's id. Where the multiplexer decides the size, it does. */
  spawn(wish: PaneWish): Promise<string>
  list(): Promise<readonly PaneInfo[]>
  /** Types exactly this, whatever it is and however long. */
  send(pane: string, data: string): Promise<void>
  /** What is on the screen, and up to this many lines above it. */
  look(pane: string, above: number): Promise<PaneView>
  /** Shows it to whoever looks at the multiplexer. */
  focus(pane: string): Promise<void>
  /** Ends the pane. One that has gone is no error. */
  kill(pane: string): Promise<void>
  /** Lets go of the multiplexer. Its panes go on. */
  close(): Promise<void>
}
