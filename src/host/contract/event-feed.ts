/** The feed of the contract: the events of one run or of all, filtered, each with where the feed goes on after it. */
import { NerveError } from '../../base/nerve-error.ts'
import { matcher } from '../../base/pattern.ts'
import { isLive, type FeedItem } from '../../engine/feed.ts'
import type { Host } from '../host.ts'
import type { Asked } from './calls.ts'
import type { Checked } from './contract.ts'
import type { Delivered, ProjectFeed } from './project-feed.ts'

/** Opens the feed. What is wrong with what was asked shows here, and not at the first item. */
export async function eventFeed(
  host: Host,
  all: ProjectFeed,
  { run, ...wanted }: Checked<'events'>,
  { signal, see }: Pick<Asked, 'signal' | 'see'>,
): Promise<AsyncIterable<Delivered>> {
  if (run === undefined) return filtered(all.read({ ...wanted, signal, see }), wanted)
  const after = numberOf(wanted.after ?? '0')
  const handle = await host.handle(run)
  const items = handle.events({ after, live: wanted.live === true, once: wanted.once === true, signal })
  return filtered(placed(items, see), { ...wanted, run: handle.id })
}

async function* placed(items: AsyncIterable<FeedItem>, see: Asked['see']): AsyncGenerator<Delivered, void, void> {
  for await (const item of items)
    yield isLive(item) ? { item: see(item) } : { item: see(item), cursor: String(item.seq) }
}

function filtered(source: AsyncIterable<Delivered>, wanted: Checked<'events'>): AsyncIterable<Delivered> {
  const { type, path, after, live } = wanted
  const isWhole = matcher(type) === undefined && matcher(path) === undefined
  return isWhole && (live !== true || after === undefined || after === '0') ? source : fitting(source, wanted)
}

async function* fitting(
  source: AsyncIterable<Delivered>,
  { run = '', type, path, after, live }: Checked<'events'>,
): AsyncGenerator<Delivered, void, void> {
  const [fitsType, fitsPath] = [matcher(type), matcher(path)]
  const fits = (item: FeedItem): boolean =>
    isGap(item) || ((fitsType?.(item.type) ?? true) && (fitsPath?.(pathOf(item)) ?? true))
  // What was live since the reader left is lost to it, and it should know.
  if (live === true && after !== undefined && after !== '0') yield { item: lost(run) }
  let left: string | undefined
  for await (const delivered of source) {
    const { item, cursor } = delivered
    if (item !== undefined && !fits(item)) {
      left = cursor ?? left
      continue
    }
    // Not every event has a cursor: one that came with something that does not fit is the newest then.
    if (left !== undefined && cursor === undefined) yield { cursor: left }
    left = undefined
    yield delivered
  }
}

function numberOf(after: string): number {
  if (/^\d{1,8}$/.test(after)) return Number(after)
  throw new NerveError('bad-input', `after: ${JSON.stringify(after.slice(0, 80))} is not the number of an event.`, {
    data: { field: 'after' },
  })
}

function isGap(item: FeedItem): boolean {
  return isLive(item) && item.type === 'gap'
}

function pathOf(item: FeedItem): string {
  return 'path' in item ? (item.path ?? '') : ''
}

function lost(run: string): FeedItem {
  return { live: true, type: 'gap', run, path: '' }
}
