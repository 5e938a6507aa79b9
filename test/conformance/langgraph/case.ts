/**
 * One case of the table: what somebody else's tests say a state graph does, and what ours does. The ideas are those of
 * the tests of LangGraph.js (MIT), read at commit f8bdf16d; the code is ours.
 */
import type { Handle, Host } from 'nerve'
import { until, type Stage } from '../../behaviour/stage.ts'

interface Base {
  /** Where the idea is from: a file below `libs/langgraph-core/src`, and the titles of the test. */
  readonly theirs: string
  /** What they check, in a sentence. */
  readonly idea: string
}

interface Same extends Base {
  readonly verdict: 'same'
  readonly run: Check
}

/** Ours can do it, and does something else on the way. */
interface Differs extends Base {
  readonly verdict: 'differs'
  readonly reason: string
  readonly run: Check
}

/** Ours has no such thing. When there is another way to the same end, `run` goes it. */
interface NotOurs extends Base {
  readonly verdict: 'not-ours'
  readonly reason: string
  readonly run?: Check
}

export type Case = Same | Differs | NotOurs

/** Runs the idea on a host of its own. Every run that it leaves behind is replayed. */
type Check = (stage: Stage) => Promise<void>

/** The paths at which steps ended well, in order. */
export async function stepsOf(host: Host, run: string): Promise<string[]> {
  return (await host.journal(run)).flatMap(({ event }) => (event.type === 'step-completed' ? [event.path] : []))
}

/** What a run told the outside. */
export async function emittedBy(host: Host, run: string): Promise<[string, unknown][]> {
  return (await host.journal(run)).flatMap(({ event }) =>
    event.type === 'emitted' ? [[event.name, event.data] as [string, unknown]] : [],
  )
}

/** The prompts of the open questions of a run, once there are so many. */
export async function asked(host: Host, run: string, count = 1): Promise<string[]> {
  const open = async () => (await host.inbox()).filter((row) => row.run === run)
  await until(async () => (await open()).length === count, `${count} open questions`)
  return (await open()).map(({ prompt }) => prompt)
}

/** Answers the open question with this prompt, once it is there. */
export async function reply(
  host: Host,
  run: Pick<Handle, 'id' | 'answer'>,
  prompt: string,
  value: unknown,
): Promise<void> {
  const open = async () => (await host.inbox()).find((row) => row.run === run.id && row.prompt === prompt)
  await until(async () => (await open()) !== undefined, `the question '${prompt}'`)
  await run.answer((await open())?.id ?? '', value)
}

/** A fork that keeps everything but the first failure: what ended before it is not run again. */
export async function forkBeforeFailure<Output>(host: Host, run: Handle<Output>): Promise<Handle<Output>> {
  const failure = (await host.journal(run.id)).find(({ event }) => event.type === 'step-failed')
  return run.fork({ at: (failure?.seq ?? 2) - 1 })
}

export async function gather<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}
