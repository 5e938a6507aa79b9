import { checkKnown } from '../../base/check-known.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable, Context } from '../../engine/definition.ts'
import { adopt, isNode, namesOf, runnableOf } from '../../engine/run-node.ts'
import { isLabel } from '../../engine/scope.ts'
import { forkOne } from '../../engine/fork-nodes.ts'
import { controlNode, given, type ControlForm, type ControlNode } from './control.ts'
import type { Part } from './fit.ts'

export interface ForkNodeOptions {
  readonly id?: string
  /** The node or definition to copy, or the name of one. */
  readonly from: Part
  /** The name of the copy. `{run_id}` and `{timestamp}` (milliseconds) are filled in. */
  readonly to: string
}

export interface Forked {
  /** The name of the copy, for the steps after it. */
  readonly node: string
  readonly forkedFrom: string
  readonly at: number
}

/**
 * Makes a copy of a node or a definition, with its own state from here on. The steps of the run after it find the copy
 * under its name, and also under `to` as it is written. After a crash the copy is made again.
 *
 * ```ts
 * import { defineNode, workflow, type Node } from 'nerve'
 * import { Fork } from 'nerve/control'
 *
 * const chat = (id: string, said: readonly string[] = []): Node<string, number> => {
 *   const own = [...said]
 *   return defineNode(id, (text: string) => own.push(text), { persistent: true, fork: (name) => chat(name, own) })
 * }
 * const analyst = chat('analyst')
 * export default workflow('try-both', async (ctx) => {
 *   await ctx.run(analyst, 'Look at the numbers.')
 *   const { node } = await ctx.run(Fork({ from: analyst, to: 'analyst-{run_id}' }))
 *   return [await ctx.run(analyst, 'Be careful.'), await ctx.run(node, 'Be bold.')]
 * })
 * ```
 */
export function Fork(options: ForkNodeOptions): ControlNode<unknown, Forked> {
  checkKnown('Fork', options, ['id', 'from', 'to'])
  const { id = 'fork', from, to } = options
  const standIn = standInFor(from, to)
  return controlNode<unknown, Forked>({
    kind: 'fork',
    id,
    parts: { from },
    note: `to ${to}`,
    problems: isLabel(to)
      ? []
      : [`to is ${JSON.stringify(to)}; give a name of 1 to 200 characters without '/' and '#'.`],
    makes: () => new Map([[to, standIn]]),
    async run(ctx) {
      const at = ctx.now()
      const node = to.replaceAll('{run_id}', ctx.runId).replaceAll('{timestamp}', String(at))
      const source = runnableOf(ctx, from)
      const forkedFrom = nameOf(source)
      refuseTaken(ctx, id, node)
      const copy = forkOne(source, node)
      adopt(ctx, node, copy)
      adopt(ctx, to, copy)
      const forked = { node, forkedFrom, at }
      ctx.emit('forked', forked)
      return forked
    },
    write: (write) => ({ from: write.node(from), to }),
    copy: (name, swap) => Fork({ ...options, id: name, from: swap(from) }),
  })
}

/** Names stand for one thing each, for as long as the run lives. */
function refuseTaken(ctx: Context, id: string, name: string): void {
  if (namesOf(ctx).get(name) === undefined) return
  throw new NerveError(
    'bad-option',
    `fork '${id}': there is a '${name}' already in this run. Give the copy another name, or put {run_id} or {timestamp} into it.`,
    { data: { name } },
  )
}

/** What stands for the copy in checks, before there is one. */
function standInFor(from: Part, name: string): AnyRunnable {
  const persistent = typeof from !== 'string' && isNode(from) && from.persistent
  const execute = (): never => {
    throw new NerveError('unknown-node', `'${name}' is made by a fork that has not run yet.`, { data: { name } })
  }
  return {
    id: name,
    kind: 'fork',
    persistent,
    execute,
    info: () => ({ id: name, kind: 'fork', persistent, abilities: [] }),
  }
}

function nameOf(node: AnyRunnable): string {
  return isNode(node) ? node.id : node.name
}

export const forkForm: ControlForm = {
  kind: 'fork',
  fields: { from: { $ref: '#/$defs/node' }, to: { type: 'string', minLength: 1 } },
  required: ['from', 'to'],
  read: ({ id, from, to }, reader) =>
    Fork({ ...given({ id: id as string | undefined }), from: reader.node(from), to: to as string }),
}
