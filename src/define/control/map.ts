import { checkKnown } from '../../base/check-known.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Context, OutputOf } from '../../engine/definition.ts'
import {
  checkFunction,
  checkLimit,
  controlNode,
  decide,
  expressed,
  expressionField,
  given,
  runPart,
  type ControlForm,
  type ControlNode,
} from './control.ts'
import type { Part, Takes } from './fit.ts'
import { itemProblems } from './overlap.ts'
import { runStrictly, settle, type Settled } from './settled.ts'

const CONCURRENCY = 5

/** What a failed item means: it fails the map, leaves its place empty, or is reported in its place. */
export type ItemPolicy = 'stop' | 'skip' | 'collect'

export interface MapNodeOptions<Body, Policy extends ItemPolicy = 'stop'> {
  readonly id?: string
  /** Runs once for each item of the input. */
  readonly body: Body
  /** How many items are worked on at a time (default 5). */
  readonly concurrency?: number
  /** Names each item for ever: an item that moves in the list keeps its result. Default: its index. */
  readonly key?: (item: Takes<Body>, index: number) => string
  /** `stop` (default): the map fails. `skip`: undefined in its place. `collect`: every result says how it ended. */
  readonly onError?: Policy
}

interface Results<Output> {
  readonly stop: Output[]
  readonly skip: (Output | undefined)[]
  readonly collect: Settled<Output>[]
}

/**
 * Runs its body for every item of a list, some at a time. Results are in the order of the items; a finished item is never
 * run again.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { Map } from 'nerve/control'
 *
 * const read = defineNode('read', (page: string) => page.length)
 * export default Map({ id: 'read-all', body: read, concurrency: 3, onError: 'collect' })
 * ```
 */
export function Map<Body extends Part, Policy extends ItemPolicy = 'stop'>(
  options: MapNodeOptions<Body, Policy>,
): ControlNode<readonly Takes<Body>[], Results<OutputOf<Body>>[Policy]> {
  checkKnown('Map', options, ['id', 'body', 'concurrency', 'key', 'onError'])
  const { id = 'map', body, concurrency = CONCURRENCY, key, onError = 'stop' } = options
  return controlNode<readonly Takes<Body>[], Results<OutputOf<Body>>[Policy]>({
    kind: 'map',
    id,
    parts: { body },
    note: `each item, ${concurrency} at a time`,
    problems: [
      ...checkLimit(concurrency, 'concurrency'),
      ...(key === undefined ? [] : checkFunction('key', key)),
      ...(ONE[onError] === undefined ? [`onError is ${JSON.stringify(onError)}; give stop, skip or collect.`] : []),
    ],
    check: (names) => itemProblems(body, concurrency, names),
    async run(ctx, items) {
      checkItems('map', id, items)
      const keys = key === undefined ? undefined : await decide(ctx, 'keys', () => items.map(key), key)
      return (await ctx.map(items, (item) => ONE[onError](ctx, body, item), {
        label: 'items',
        concurrency,
        ...(keys === undefined ? {} : { key: (_item, index) => keys[index] as string }),
      })) as never
    },
    write: (write) => ({
      do: write.node(body),
      ...given({ concurrency: options.concurrency, onError: options.onError }),
      ...(key === undefined ? {} : { key: write.expression('key', key) }),
    }),
    copy: (name, swap) => Map<Body, Policy>({ ...options, id: name, body: swap(body) }),
  })
}

/** How one item is run, by what its failure means. */
const ONE: Readonly<Record<ItemPolicy, (ctx: Context, body: Part, item: unknown) => Promise<unknown>>> = {
  stop: (ctx, body, item) => runPart(ctx, body, item),
  collect: (ctx, body, item) => settle(ctx, () => runStrictly(ctx, body, item)),
  async skip(ctx, body, item) {
    const ended = await settle(ctx, () => runStrictly(ctx, body, item))
    return ended.status === 'done' ? ended.value : undefined
  },
}

export function checkItems(kind: string, id: string, items: unknown): void {
  if (Array.isArray(items)) return
  throw new NerveError(
    'bad-input',
    `${kind} '${id}' needs a list as its input, not ${items === null ? 'null' : typeof items}.`,
  )
}

export const mapForm: ControlForm = {
  kind: 'map',
  fields: {
    do: { $ref: '#/$defs/node' },
    concurrency: { type: 'integer', minimum: 1 },
    key: expressionField('item', 'index'),
    onError: { enum: ['stop', 'skip', 'collect'] },
  },
  required: ['do'],
  read: ({ id, do: body, concurrency, key, onError }, reader) =>
    Map<Part, ItemPolicy>({
      ...given({
        id: id as string | undefined,
        concurrency: concurrency as number | undefined,
        onError: onError as ItemPolicy | undefined,
      }),
      ...(key === undefined
        ? {}
        : { key: expressed(reader, key, (item: unknown, index: number) => ({ item, index })) }),
      body: reader.node(body),
    }),
}
