/** Waits for a run of whatever host: until it ends, is held up, or it or one of its children asks something. */
import { isNerveError } from '../../base/nerve-error.ts'
import type { Output } from '../../host/contract/contract.ts'
import type { Client, Question } from '../client/client.ts'
import type { EventItem } from '../client/events.ts'

export interface Waiting {
  readonly run: string
  readonly until: 'end' | 'rest'
  readonly timeout: number
  readonly signal: AbortSignal
  /** True for the id of a question that ends the wait. */
  readonly stopsAt: (question: string) => boolean
  /** Hears every durable event of the run and its children from now on. */
  readonly onEvent: ((event: EventItem) => void) | undefined
}

/** Where a run stands, with what it waits for. */
export interface Standing extends Output<'runs.wait'> {
  readonly questions: readonly Question[]
  readonly signals: readonly string[]
}

const HOLDS = ['run-paused', 'budget-exhausted']
const HELD = ['paused', 'exhausted']

export async function waitForRun(client: Client, waiting: Waiting): Promise<Standing> {
  const { run, until, timeout } = waiting
  const over = new AbortController()
  const signal = AbortSignal.any([waiting.signal, over.signal])
  try {
    if (timeout > 0)
      await Promise.race([
        client.call('runs.wait', { run, until, timeout }, { signal }),
        heldUp(client, { ...waiting, signal }),
      ])
  } finally {
    over.abort()
  }
  waiting.signal.throwIfAborted()
  return standing(client, run)
}

async function standing(client: Client, run: string): Promise<Standing> {
  const now = await client.call('runs.wait', { run, timeout: 0 })
  if (now.ended) return { ...now, questions: [], signals: [] }
  const { root } = await client.runs.get(run)
  const rows = await client.runs.list({ root, children: true })
  const parents = new Map(rows.map((row) => [row.run, row.parent]))
  const isBelow = (one: string | undefined): boolean => one !== undefined && (one === run || isBelow(parents.get(one)))
  const tree = rows.filter((row) => isBelow(row.run))
  const questions = tree.flatMap((row) =>
    row.questions.map((question) => ({ ...question, run: row.run, definition: row.definition })),
  )
  return { ...now, questions, signals: tree.flatMap(({ signals }) => signals) }
}

/** Resolves when the run does not go on by itself: a question, a pause, a budget that is spent. */
async function heldUp(client: Client, waiting: Waiting): Promise<void> {
  const { run, signal, stopsAt, onEvent } = waiting
  const isBelow = belonging(client, run)
  const listens = Promise.withResolvers<void>()
  const look = async (): Promise<void> => {
    // What was there before the feed began is not told by it.
    await listens.promise
    const { status, questions } = await standing(client, run)
    if (!HELD.includes(status) && !questions.some(({ id }) => stopsAt(id))) await ended(signal)
  }
  const listen = async (): Promise<void> => {
    for await (const event of client.events({ signal, onCursor: () => listens.resolve() })) {
      if (!(await isBelow(event.run)) || signal.aborted) continue
      onEvent?.(event)
      if (event.type === 'question-asked' && 'id' in event && stopsAt(String(event.id))) return
      if (event.run === run && HOLDS.includes(event.type)) return
    }
    // A feed that ended says nothing about the run.
    await ended(signal)
  }
  await Promise.race([look(), listen()])
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Tells whether a run is this one, or was started by it or by its children. */
function belonging(client: Client, top: string): (run: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>([[top, Promise.resolve(true)]])
  const look = async (run: string): Promise<boolean> => {
    try {
      const { parent } = await client.runs.get(run)
      return parent !== undefined && (await isBelow(parent))
    } catch (error) {
      // It was removed in the meantime.
      if (isNerveError(error, 'not-found')) return false
      throw error
    }
  }
  const isBelow = (run: string): Promise<boolean> => {
    const found = known.get(run) ?? look(run)
    known.set(run, found)
    return found
  }
  return isBelow
}
