import { checkKnown } from '../../base/check-known.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { OutputOf } from '../../engine/definition.ts'
import {
  checkFunction,
  controlNode,
  decide,
  expressed,
  expressionField,
  given,
  runPart,
  sourceOf,
  type ControlFacts,
  type ControlForm,
  type ControlNode,
} from './control.ts'
import type { FitTogether, OneOutputOf, Part, TakenByAll } from './fit.ts'

type Cases = Readonly<Record<string, Part>>
type Taken<All, Default> = TakenByAll<[Default] extends [undefined] ? All : All & { readonly '': Default }>
/** With a default, every key is known. */
type Key<All, Default> = [Default] extends [undefined] ? keyof All & string : string

export interface SwitchOptions<All, Default> {
  readonly id?: string
  /** Which case it is. */
  readonly key: (
    input: Taken<All, Default>,
    facts: ControlFacts<Taken<All, Default>>,
  ) => Key<All, Default> | Promise<Key<All, Default>>
  readonly cases: All & FitTogether<All>
  /** Runs when no case has the key. Without it, such a key is an error. */
  readonly default?: Default & FitTogether<All & { readonly '': Default }>
}

/**
 * Runs one of several, by a key.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { Switch } from 'nerve/control'
 *
 * const fix = defineNode('fix', (ticket: { kind: string; text: string }) => `fixing ${ticket.text}`)
 * const plan = defineNode('plan', (ticket: { kind: string; text: string }) => `planning ${ticket.text}`)
 * export default Switch({ id: 'triage', key: ({ kind }) => kind, cases: { bug: fix, feature: plan }, default: plan })
 * ```
 */
export function Switch<const All extends Cases, Default extends Part | undefined = undefined>(
  options: SwitchOptions<All, Default>,
): ControlNode<Taken<All, Default>, OneOutputOf<All> | ([Default] extends [undefined] ? never : OutputOf<Default>)> {
  checkKnown('Switch', options, ['id', 'key', 'cases', 'default'])
  const { id = 'switch', key, default: otherwise } = options
  const cases: Cases = options.cases
  const parts = Object.fromEntries([
    ...caseParts(cases),
    ...(otherwise === undefined ? [] : [['default', otherwise] as const]),
  ])
  return controlNode({
    kind: 'switch',
    id,
    parts,
    choice: { id: 'key', kind: 'choice', ...given({ note: sourceOf(key) }) },
    edges: Object.keys(parts).map((part) => ({ from: 'key', to: part, label: part.replace(/^case /u, '') })),
    problems: [
      ...checkFunction('key', key),
      ...(Object.keys(cases).length === 0 ? ['it has no cases. Add one: cases: { name: node }.'] : []),
    ],
    async run(ctx, input) {
      const facts = { input, params: ctx.params }
      const found = String(await decide(ctx, 'key', () => key(input, facts), key))
      const chosen = Object.hasOwn(cases, found) ? cases[found] : otherwise
      if (chosen === undefined) throw unknownCase(id, found, cases)
      return runPart(ctx, chosen, input)
    },
    write: (write) => ({
      on: write.expression('key', key),
      cases: Object.fromEntries(Object.entries(cases).map(([name, node]) => [name, write.node(node)])),
      ...(otherwise === undefined ? {} : { default: write.node(otherwise) }),
    }),
    copy: (name, swap) =>
      Switch<All, Default>({
        ...options,
        id: name,
        cases: Object.fromEntries(
          Object.entries(cases).map(([one, node]) => [one, swap(node)]),
        ) as typeof options.cases,
        ...(otherwise === undefined ? {} : { default: swap(otherwise) }),
      }),
  })
}

function caseParts(cases: Cases): (readonly [string, Part])[] {
  return Object.entries(cases).map(([name, node]) => [`case ${name}`, node])
}

function unknownCase(id: string, key: string, cases: Cases): NerveError {
  const known = Object.keys(cases)
  return new NerveError(
    'bad-input',
    `switch '${id}' has no case ${JSON.stringify(key)} and no default. Its cases: ${known.join(', ')}.`,
    { data: { key, known } },
  )
}

export const switchForm: ControlForm = {
  kind: 'switch',
  fields: {
    on: expressionField('input', 'params'),
    cases: { type: 'object', minProperties: 1, additionalProperties: { $ref: '#/$defs/node' } },
    default: { $ref: '#/$defs/node' },
  },
  required: ['on', 'cases'],
  read: ({ id, on, cases, default: otherwise }, reader) =>
    Switch<Cases, Part>({
      ...given({ id: id as string | undefined }),
      key: expressed(reader, on, (_input: unknown, facts: ControlFacts) => facts),
      cases: Object.fromEntries(
        Object.entries(cases as Readonly<Record<string, unknown>>).map(([name, node]) => [name, reader.node(node)]),
      ),
      ...(otherwise === undefined ? {} : { default: reader.node(otherwise) }),
    }),
}
