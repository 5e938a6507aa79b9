/** Whether a run that this process does not drive has come to rest, as far as the store tells. */
import { statusOf } from '../journal/fold.ts'
import type { RunState } from '../journal/run-state.ts'
import type { Engine } from './engine.ts'

/** The state of a stored run that has ended or rests; undefined while it is at work. */
export async function storedRest(engine: Engine, run: string): Promise<RunState | undefined> {
  const found = await engine.store.find(run)
  const { state } = await engine.stored(run)
  if (found === undefined || state.end !== undefined) return state
  const status = statusOf(state)
  // That all of its children wait can only be known to whoever drives them, and is said in lists.
  const waits = found.head.status === 'waiting' && state.children.size > 0
  const rests = status === 'running' ? waits || (await holdOf(engine, state)) !== undefined : status !== 'queued'
  if (!rests || state.inFlight.size === 0) return rests ? state : undefined
  // What is in flight ends before it rests, unless it went with its process, or waits for a person.
  const isDriven = engine.isDriven(state.root, found.owner, await engine.ownership.living())
  return isDriven && status !== 'waiting' ? undefined : state
}

/** What holds a child that would be at work: that its root is paused, or has spent its budget. */
export async function holdOf({ store }: Engine, { run, root }: RunState): Promise<'paused' | 'exhausted' | undefined> {
  if (run === root) return undefined
  const status = (await store.find(root))?.head.status
  return status === 'paused' || status === 'exhausted' ? status : undefined
}
