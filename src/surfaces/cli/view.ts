/** How a driven run is shown: as a live tree, as plain lines, or as JSON lines. */
import type { RunEvent } from '../../host/api.ts'
import { eventData, eventLine, isNoise } from './event-lines.ts'
import { answerHint } from './outcome.ts'
import type { Output } from './output.ts'
import type { KnownQuestion, Progress } from './progress.ts'

export interface View {
  /** Something new has happened; `progress` knows it already. */
  hear(event: RunEvent): void
  /** A line from Nerve to the person. */
  say(text: string): void
  /** What the person types, or undefined when the question went away meanwhile. Only on a terminal. */
  ask?(question: KnownQuestion, problem: string | undefined, gone: AbortSignal): Promise<string | undefined>
  /** Says how a question is answered from elsewhere, where nobody asks it here and the showing goes on. */
  tell?(question: KnownQuestion): void
  /** Ends the showing, before the outcome is printed. */
  close(): void
}

/** What keys at a terminal do while it is shown. */
export interface ViewKeys {
  readonly interrupt: () => void
  /** Ctrl-Z, where the run goes on without whoever watches it. */
  readonly leave?: () => void
  /** What a person can do, in a few words. */
  readonly hint: string
  /** Whether it goes on being shown while this question is open. */
  readonly tells?: (question: KnownQuestion) => boolean
}

export async function createView(out: Output, progress: Progress, keys: ViewKeys): Promise<View> {
  if (out.json) return jsonView(out)
  if (!out.live) return plainView(out, progress, keys)
  const { LiveView } = await import('./live-view.ts')
  return new LiveView(out, progress, keys)
}

function jsonView(out: Output): View {
  return {
    hear: (event) => out.data(eventData(event, out.verbose)),
    say: () => undefined,
    close: () => undefined,
  }
}

function plainView(out: Output, progress: Progress, { tells }: ViewKeys): View {
  return {
    hear(event) {
      if (isNoise(event)) return
      const isRoot = progress.runs.get(event.run)?.parent === undefined && progress.roots.length === 1
      out.line(isRoot ? eventLine(event) : `${event.run}  ${eventLine(event)}`)
    },
    say: (text) => out.line(text),
    tell(question) {
      if (tells?.(question) === true) out.line(answerHint(out, question))
    },
    close: () => undefined,
  }
}
