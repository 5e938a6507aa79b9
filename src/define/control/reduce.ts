import { checkKnown } from '../../base/check-known.ts'
import type { InputOf, OutputOf } from '../../engine/definition.ts'
import { controlNode, given, runPart, type ControlForm, type ControlNode } from './control.ts'
import type { Fits, Part } from './fit.ts'
import { checkItems } from './map.ts'

/** What the body gets for each item. */
export interface Reduction<Accumulator = unknown, Item = unknown> {
  /** What the item before gave; for the first item, `initial`. */
  readonly accumulator: Accumulator
  readonly item: Item
  readonly index: number
}

type ItemOf<Body> = InputOf<Body> extends { readonly item: infer Item } ? Item : unknown

export interface ReduceOptions<Body> {
  readonly id?: string
  /** Gets `{ accumulator, item, index }`, and returns the next accumulator. */
  readonly body: Body & Fits<Reduction<OutputOf<Body>, ItemOf<Body>>, Body>
  /** The first accumulator, and the result for an empty list. */
  readonly initial: OutputOf<Body>
}

/**
 * Makes one value of a list, one item after the other. Each item is durable.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { Reduce } from 'nerve/control'
 *
 * const add = defineNode('add', (one: { accumulator: number; item: number }) => one.accumulator + one.item)
 * export default Reduce({ id: 'sum', body: add, initial: 0 })
 * ```
 */
export function Reduce<Body extends Part>(
  options: ReduceOptions<Body>,
): ControlNode<readonly ItemOf<Body>[], OutputOf<Body>> {
  checkKnown('Reduce', options, ['id', 'body', 'initial'])
  const { id = 'reduce', initial } = options
  const body: Part = options.body
  return controlNode<readonly ItemOf<Body>[], OutputOf<Body>>({
    kind: 'reduce',
    id,
    parts: { body },
    note: 'each item, one after the other',
    problems: 'initial' in options ? [] : ['it has no initial value. Give one: initial.'],
    async run(ctx, items) {
      checkItems('reduce', id, items)
      // A body that writes into the accumulator must not change what the next run starts with.
      let accumulator = structuredClone(initial)
      for (const [index, item] of items.entries())
        accumulator = await ctx.scope(String(index), () =>
          runPart<OutputOf<Body>>(ctx, body, { accumulator, item, index }),
        )
      return accumulator
    },
    write: (write) => ({ do: write.node(body), initial }),
    copy: (name, swap) => Reduce<Body>({ ...options, id: name, body: swap(options.body) }),
  })
}

export const reduceForm: ControlForm = {
  kind: 'reduce',
  fields: { do: { $ref: '#/$defs/node' }, initial: {} },
  required: ['do', 'initial'],
  read: ({ id, do: body, initial }, reader) =>
    Reduce({ ...given({ id: id as string | undefined }), body: reader.node(body), initial }),
}
