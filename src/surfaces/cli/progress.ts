/** What is known of a run tree while it is watched: timelines, open questions, how it ended. Only `hear` changes it. */
import { addToTimeline, emptyTimeline, type RunEvent, type Timeline } from '../../host/api.ts'
import type { Budget, ResumePlan, Usage } from '../../journal/events.ts'
import type { OpenQuestion } from '../../journal/port.ts'

export interface KnownRun {
  readonly run: string
  readonly definition: string
  readonly parent?: string
  readonly budget?: Budget
  readonly timeline: Timeline
  seq: number
}

export interface KnownQuestion extends OpenQuestion {
  readonly run: string
}

type EndEvent = Extract<RunEvent, { readonly type: 'run-completed' | 'run-failed' | 'run-cancelled' }>

export class Progress {
  readonly runs = new Map<string, KnownRun>()
  /** Open questions, by id, oldest first. */
  readonly questions = new Map<string, KnownQuestion>()
  readonly ends = new Map<string, EndEvent>()
  /** Why a run that diverged was paused. */
  readonly plans = new Map<string, ResumePlan>()
  readonly paused = new Set<string>()
  readonly #roots: KnownRun[] = []

  /** False when it was known already. */
  hear(event: RunEvent): boolean {
    const known = this.#known(event)
    if (known === undefined || event.seq <= known.seq) return false
    known.seq = event.seq
    addToTimeline(known.timeline, { event, time: event.time })
    this.#note(event)
    return true
  }

  /** Runs that no other known run has started. */
  get roots(): readonly KnownRun[] {
    return this.#roots
  }

  /** What the whole tree has spent as far as its steps have told. */
  usage(): Usage {
    let usd = 0
    let tokens = 0
    for (const { timeline } of this.runs.values()) {
      for (const item of timeline.items.values()) {
        if (item.child !== undefined && this.runs.has(item.child)) continue
        usd += item.usage?.usd ?? 0
        tokens += item.usage?.tokens ?? 0
      }
    }
    return { usd, tokens }
  }

  #known(event: RunEvent): KnownRun | undefined {
    const found = this.runs.get(event.run)
    if (found !== undefined || event.type !== 'run-created') return found
    const run: KnownRun = {
      run: event.run,
      definition: event.definition,
      ...(event.parent === undefined ? {} : { parent: event.parent.run }),
      ...(event.budget === undefined ? {} : { budget: event.budget }),
      timeline: emptyTimeline(),
      seq: 0,
    }
    this.runs.set(event.run, run)
    if (run.parent === undefined || !this.runs.has(run.parent)) this.#roots.push(run)
    return run
  }

  #note(event: RunEvent): void {
    switch (event.type) {
      case 'question-asked': {
        const { type: _type, after: _after, seq: _seq, time, ...question } = event
        this.questions.set(event.id, { ...question, asked: time })
        return
      }
      case 'question-answered':
      case 'question-expired':
      case 'question-withdrawn':
        this.questions.delete(event.id)
        return
      case 'run-paused':
        this.paused.add(event.run)
        if (event.plan !== undefined) this.plans.set(event.run, event.plan)
        return
      case 'run-resumed':
      case 'plan-accepted':
        this.paused.delete(event.run)
        this.plans.delete(event.run)
        return
      case 'run-completed':
      case 'run-failed':
      case 'run-cancelled':
        this.ends.set(event.run, event)
        for (const [id, question] of this.questions) if (question.run === event.run) this.questions.delete(id)
        return
      default:
    }
  }
}
