/** What the contract says about definitions. They are known by name: nothing that comes over the wire becomes one. */
import { nearest } from '../../base/nearest.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { asJsonSchema } from '../../base/schema.ts'
import { mermaid, outlineOf } from '../../define/outline.ts'
import type { AnyDefinition } from '../../engine/definition.ts'
import { isDefinition } from '../../engine/run-node.ts'
import type { Host } from '../host.ts'
import { sessionOfSending } from '../sessions/sending.ts'
import { given, type Calls } from './calls.ts'

export function definitionCalls(host: Host): Calls<`definitions.${'list' | 'explain' | 'validate'}`> {
  return {
    'definitions.list': () => definitions(host).map(summaryOf),
    'definitions.explain': ({ definition: name }) => {
      const definition = definitionNamed(host, name)
      const { input, params, budget, errorPolicy, durability } = definition.options
      const outline = outlineOf(definition)
      return {
        ...summaryOf(definition),
        ...given({ inputSchema: input === undefined ? undefined : asJsonSchema(input), params, budget: budget as {} }),
        errorPolicy: definition.errorPolicy ?? errorPolicy ?? 'stop',
        durability: durability ?? 'process',
        outline,
        // What has no parts to draw is drawn as one.
        mermaid: mermaid((outline.parts ?? []).length > 0 ? outline : { id: '', kind: '', parts: [outline] }),
      }
    },
    'definitions.validate': ({ definition }) => {
      const problems = definitionNamed(host, definition).check?.(host.registry.names) ?? []
      return { ok: problems.length === 0, problems: [...problems] }
    },
  }
}

export function definitionNamed(host: Host, name: string): AnyDefinition {
  const found = host.registry.names.get(name)
  if (isDefinition(found) && sessionOfSending(name) === undefined) return found
  const known = definitions(host).map((one) => one.name)
  const meant = nearest(name, known)
  const hint =
    known.length === 0
      ? 'None is registered.'
      : meant === undefined
        ? `Known: ${known.slice(0, 20).join(', ')}.`
        : `Did you mean '${meant}'?`
  throw new NerveError('not-found', `There is no definition '${name}' here. ${hint}`, { data: { definition: name } })
}

function definitions(host: Host): readonly AnyDefinition[] {
  const { names } = host.registry
  const all = [...names.keys()].map((name) => names.get(name)).filter((one) => isDefinition(one))
  return all.filter(({ name }) => sessionOfSending(name) === undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function summaryOf({ name, kind, options: { description } }: AnyDefinition) {
  return { name, kind, ...(description === undefined ? {} : { description }) }
}
