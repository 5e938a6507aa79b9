/** What the contract says about definitions. They are known by name, and what comes over the wire is data: a spec, never code. */
import { NerveError, errorData } from '../../base/nerve-error.ts'
import { asJsonSchema } from '../../base/schema.ts'
import { mermaid, outlineOf } from '../../define/outline.ts'
import { problemText } from '../../define/spec/spec-text.ts'
import { problemsIn } from '../../engine/recursion.ts'
import type { Host } from '../host.ts'
import { given, type Calls } from './calls.ts'
import type { CallName } from './contract.ts'
import type { KnownDefinition, KnownDefinitions } from './known-definitions.ts'
import type { Places } from './places.ts'
import type { Specs } from './specs.ts'

type Names = Extract<CallName, `definitions.${string}`>

export interface DefinitionParts {
  readonly specs: Specs
  readonly known: KnownDefinitions
  readonly places: Places
}

export function definitionCalls(host: Host, { specs, known, places }: DefinitionParts): Calls<Names> {
  return {
    'definitions.list': async () => (await known.all()).map(summaryOf),
    'definitions.problems': async () =>
      (await known.problems()).map(({ source, problem }) => ({ source, message: errorData(problem).message })),
    'definitions.explain': async ({ definition: name }) => {
      const found = await known.named(name)
      const { definition } = found
      const { input, params, budget, errorPolicy, durability } = definition.options
      const outline = outlineOf(definition)
      return {
        ...summaryOf(found),
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
          ? problemsIn((await known.named(definition ?? '')).definition, host.registry.names)
          : (await specs.check(spec)).problems.map(problemText)
      return { ok: problems.length === 0, problems: [...problems] }
    },
    'definitions.create': async ({ spec }) => {
      const { definition, unchecked } = await specs.create(spec, (name) => demandFree(name, { specs, known, places }))
      return { definition, unchecked: [...unchecked] }
    },
    'definitions.remove': async ({ definition }) => {
      await known.named(definition)
      await specs.remove(definition)
      return { ok: true }
    },
  }
}

/** What the registry does not know: nodes whose session is not open, and definitions of files that nobody has started. */
async function demandFree(name: string, { specs, known, places }: DefinitionParts): Promise<void> {
  const member = (await places.catalog()).find((entry) => entry.name === name)
  if (member !== undefined) throw taken(name, `a ${member.kind} of session '${member.session}'`)
  const there = specs.has(name) ? undefined : (await known.all()).find(({ definition }) => definition.name === name)
  if (there?.source !== undefined) throw taken(name, `a ${there.definition.kind} of ${there.source}`)
}

function taken(name: string, by: string): NerveError {
  return new NerveError(
    'bad-definition',
    `The name '${name}' is taken by ${by}. Names are unique across nodes, graphs and workflows.`,
    { data: { name } },
  )
}

function summaryOf({ definition: { name, kind, options }, source }: KnownDefinition) {
  return { name, kind, ...given({ description: options.description, source }) }
}
