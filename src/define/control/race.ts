import { checkKnown } from '../../base/check-known.ts'
import type { OutputOf } from '../../engine/definition.ts'
import { controlNode, given, runPart, type ControlForm, type ControlNode } from './control.ts'
import type { FitTogether, OneOutputOf, Parts, TakenByAll } from './fit.ts'
import { sharedProblems } from './overlap.ts'
import { BRANCHES, branchProblems, namesOf, partsOf, readBranches, swapBranches, writeBranches } from './parallel.ts'

/** Who won, by name or by the place in the list, and what it gave. */
export type RaceResult<All> = All extends readonly unknown[]
  ? { readonly winner: number; readonly value: OneOutputOf<All> }
  : {
      [Name in keyof All & string]: { readonly winner: Name; readonly value: OutputOf<All[Name]> }
    }[keyof All & string]

export interface RaceNodeOptions<All> {
  readonly id?: string
  /** By name or as a list. All get the same input. */
  readonly branches: All & FitTogether<All>
}

/**
 * Runs several at the same time until the first one ends, well or badly; the others are stopped.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { Race } from 'nerve/control'
 *
 * const fast = defineNode('fast', (text: string) => text.length)
 * const slow = defineNode('slow', async (text: string) => text.split(' '))
 * export default Race({ id: 'quickest', branches: { fast, slow } })
 * ```
 */
export function Race<const All extends Parts>(
  options: RaceNodeOptions<All>,
): ControlNode<TakenByAll<All>, RaceResult<All>> {
  checkKnown('Race', options, ['id', 'branches'])
  const { id = 'race', branches } = options
  const parts = partsOf(branches)
  return controlNode<TakenByAll<All>, RaceResult<All>>({
    kind: 'race',
    id,
    parts,
    note: 'the first to end wins',
    problems: branchProblems(branches),
    check: (names) => sharedProblems(parts, names),
    run(ctx, input) {
      const runs = namesOf(branches).map(({ name, node, label }, at) => async () => ({
        winner: Array.isArray(branches) ? at : name,
        value: await runPart(ctx, node, input, label),
      }))
      return ctx.race(runs, { label: 'branches' }) as Promise<RaceResult<All>>
    },
    write: (write) => ({ branches: writeBranches(branches, write) }),
    copy: (name, swap) => Race<All>({ id: name, branches: swapBranches(branches, swap) as typeof branches }),
  })
}

export const raceForm: ControlForm = {
  kind: 'race',
  fields: { branches: BRANCHES },
  required: ['branches'],
  read: ({ id, branches }, reader) =>
    Race<Parts>({ ...given({ id: id as string | undefined }), branches: readBranches(branches, reader) }),
}
