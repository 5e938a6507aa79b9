/** What the contract says about definitions. They are known by name, and what comes over the wire is data: a spec, never code. */
import { NerveError } from '../../base/nerve-error.ts'
import { asJsonSchema } from '../../base/schema.ts'
import { mermaid, outlineOf } from '../../define/outline.ts'
import { problemText } from '../../define/spec/spec-text.ts'
import type { AnyDefinition } from '../../engine/definition.ts'
import type { Host } from '../host.ts'
import { given, type Calls } from './calls.ts'
import type { CallName } from './contract.ts'
import type { KnownDefinitions } from './known-definitions.ts'
import type { Specs } from './specs.ts'

type Names = Extract<CallName, `definitions.${string}`>

export function definitionCalls(host: Host, specs: Specs, known: KnownDefinitions): Calls<Names> {
  return {
    'definitions.list': async () => (await known.all()).map(({ definition }) => summaryOf(definition)),
    'definitions.explain': async ({ definition: name }) => {
      const { definition } = await known.named(name)
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
    'definitions.validate': async ({ definition, spec }) => {
      if ((definition === undefined) === (spec === undefined))
        throw new NerveError('bad-input', 'Give either the name of a definition, or a spec.', {
          data: { field: 'definition' },
        })
      const problems =
        spec === undefined
          ? ((await known.named(definition ?? '')).definition.check?.(host.registry.names) ?? [])
          : (await specs.check(spec)).problems.map(problemText)
      return { ok: problems.length === 0, problems: [...problems] }
    },
    'definitions.create': async ({ spec }) => {
      const { definition, unchecked } = await specs.create(spec)
      return { definition, unchecked: [...unchecked] }
    },
    'definitions.remove': async ({ definition }) => {
      await known.named(definition)
      await specs.remove(definition)
      return { ok: true }
    },
  }
}

function summaryOf({ name, kind, options: { description } }: AnyDefinition) {
  return { name, kind, ...(description === undefined ? {} : { description }) }
}
