/**
 * The program of a terminal as the terminal sees it: bytes in and out, its end, and the end of all that it started.
 * Where it runs (on a PTY, in a pane) is known only behind this.
 */
import type { NerveError } from '../../base/nerve-error.ts'
import type { CommandBook } from '../panes/command-book.ts'
import type { PaneKind } from '../panes/pane-port.ts'
import type { TerminalScreen } from './terminal-screen.ts'

export interface Exit {
  /** 128 and the number of the signal, when a signal ended it: as shells say it. Missing when nobody can say. */
  readonly code?: number
}

/** The pane that a program runs in. */
export interface PaneFacts {
  readonly mux: PaneKind
  readonly id: string
  /** The command with which a person looks at it. */
  readonly attach?: string
}

/** What a program printed before this process came. */
export interface Past {
  readonly bytes: Uint8Array
  /** True when the beginning is no longer there. */
  readonly cut: boolean
}

export interface ProcessSize {
  readonly cols: number
  readonly rows: number
}

export interface TerminalProcess {
  readonly pid: number | undefined
  /** Resolves after the last byte was handed on. */
  readonly exit: Promise<Exit>
  /** The size that it has, when it was there before. */
  readonly size?: ProcessSize
  readonly past?: Past
  /** Which commands of steps were typed into it, also by processes that are dead. */
  readonly book?: CommandBook
  readonly pane?: PaneFacts
  /** How often it was looked at, when it is not heard of but looked at. */
  readonly looks?: () => number
  onBytes(listener: (bytes: Uint8Array) => void): void
  /** Hears that the way to the program is lost. The program itself may go on. */
  onLost?(listener: (error: NerveError) => void): void
  write(data: string): void
  resize(cols: number, rows: number): void
  pause(): void
  resume(): void
  /** The program has said with what it ended, and everything it printed is here. What holds the place may stay. */
  over?(code: number): void
  hangUp(): void
  /** Kills what the program has started, but not the program. */
  killBelow(): Promise<void>
  /** Lets go of it. What can live without us goes on. */
  detach(): Promise<void>
  /** Ends it and everything that it started. */
  stop(): Promise<void>
  /** The screen, when the multiplexer is asked for it. */
  look?(): Promise<TerminalScreen>
}
