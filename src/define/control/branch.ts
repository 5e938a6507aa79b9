import { checkKnown } from '../../base/check-known.ts'
import type { OutputOf } from '../../engine/definition.ts'
import {
  checkFunction,
  controlNode,
  decide,
  expressedCondition,
  expressionField,
  given,
  runPart,
  sourceOf,
  type ControlFacts,
  type ControlForm,
  type ControlNode,
} from './control.ts'
import type { FitTogether, Part, TakenByAll } from './fit.ts'

interface Both<Then, Else> {
  readonly then: Then
  readonly else: Else
}
type Taken<Then, Else> = TakenByAll<[Else] extends [undefined] ? { readonly then: Then } : Both<Then, Else>>

export interface BranchOptions<Then, Else> {
  readonly id?: string
  readonly condition: (input: Taken<Then, Else>, facts: ControlFacts<Taken<Then, Else>>) => boolean | Promise<boolean>
  /** Runs when the condition holds, with the input. */
  readonly then: Then
  /** Runs when it does not. Without it, the input is the result. */
  readonly else?: Else & FitTogether<Both<Then, Else>>
}

/**
 * Runs one of two.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { Branch } from 'nerve/control'
 *
 * const praise = defineNode('praise', (score: number) => `${score}: well done`)
 * const help = defineNode('help', (score: number) => `${score}: try again`)
 * export default Branch({ id: 'judge', condition: (score) => score > 5, then: praise, else: help })
 * ```
 */
export function Branch<Then extends Part, Else extends Part | undefined = undefined>(
  options: BranchOptions<Then, Else>,
): ControlNode<Taken<Then, Else>, OutputOf<Then> | ([Else] extends [undefined] ? Taken<Then, Else> : OutputOf<Else>)> {
  checkKnown('Branch', options, ['id', 'condition', 'then', 'else'])
  const { id = 'branch', condition, else: otherwise } = options
  const parts: Readonly<Record<string, Part>> = {
    then: options.then,
    ...(otherwise === undefined ? {} : { else: otherwise }),
  }
  return controlNode({
    kind: 'branch',
    id,
    parts,
    choice: { id: 'condition', kind: 'choice', ...given({ note: sourceOf(condition) }) },
    edges: Object.keys(parts).map((part) => ({ from: 'condition', to: part, label: part === 'then' ? 'yes' : 'no' })),
    problems: checkFunction('condition', condition),
    async run(ctx, input) {
      const facts = { input, params: ctx.params }
      const holds = await decide(ctx, 'condition', () => condition(input, facts), condition)
      const chosen = holds ? parts['then'] : parts['else']
      return chosen === undefined ? (input as never) : runPart(ctx, chosen, input)
    },
    write: (write) => ({
      if: write.expression('condition', condition),
      then: write.node(options.then),
      ...(otherwise === undefined ? {} : { else: write.node(otherwise) }),
    }),
    copy: (name, swap) =>
      Branch<Then, Else>({
        ...options,
        id: name,
        then: swap(options.then),
        ...(otherwise === undefined ? {} : { else: swap(otherwise) }),
      }),
  })
}

export const branchForm: ControlForm = {
  kind: 'branch',
  fields: {
    if: expressionField('input', 'params'),
    then: { $ref: '#/$defs/node' },
    else: { $ref: '#/$defs/node' },
  },
  required: ['if', 'then'],
  read: ({ id, if: condition, then, else: otherwise }, reader) =>
    Branch<Part, Part>({
      ...given({ id: id as string | undefined }),
      condition: expressedCondition(reader, condition, (_input: unknown, facts: ControlFacts) => facts),
      then: reader.node(then),
      ...(otherwise === undefined ? {} : { else: reader.node(otherwise) }),
    }),
}
