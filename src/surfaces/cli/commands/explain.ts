/** `nerve explain`. */
import { loadDefinitions, type AnyDefinition } from '../../../host/api.ts'
import { mermaid, outlineOf, outlineText } from '../../../host/file-api.ts'
import type { Invocation } from '../dispatch.ts'
import { budgetText } from '../event-lines.ts'
import { EXIT } from '../exit-code.ts'
import { toJson } from '../printable.ts'

export async function run({ args, out }: Invocation): Promise<number> {
  const file = args.words[0] ?? ''
  const definitions = await loadDefinitions(file)
  const draws = args.flag('mermaid')
  out.data({
    file,
    workflows: definitions.map((one) => ({ ...explain(one), ...(draws ? { mermaid: drawing(one) } : {}) })),
  })
  if (draws) out.line(definitions.map(drawing).join('\n\n'))
  else for (const line of definitions.flatMap((one) => [...lines(one, out), ''])) out.line(line)
  return EXIT.done
}

function lines(definition: AnyDefinition, out: Invocation['out']): string[] {
  return [
    out.tone(definition.name, 'bold'),
    ...rows(explain(definition)).map(([name, text]) => `  ${name.padEnd(12)}${text}`),
    '',
    ...(definition.outline === undefined
      ? ['A workflow is an async function: its steps are known when it runs, so there is no graph to show before.']
      : outlineText(definition.outline()).split('\n')),
  ]
}

/** What has no parts to draw is drawn as one. */
function drawing(definition: AnyDefinition): string {
  const outline = outlineOf(definition)
  return mermaid((outline.parts ?? []).length > 0 ? outline : { id: '', kind: '', parts: [outline] })
}

function explain(definition: AnyDefinition) {
  const { kind, name, options } = definition
  const { description, input, output, params, budget, errorPolicy, durability } = options
  return {
    name,
    kind,
    ...(description === undefined ? {} : { description }),
    ...(input === undefined ? {} : { input: { vendor: input['~standard'].vendor } }),
    ...(output === undefined ? {} : { output: { vendor: output['~standard'].vendor } }),
    ...(params === undefined ? {} : { params }),
    ...(budget === undefined ? {} : { budget }),
    errorPolicy: definition.errorPolicy ?? errorPolicy ?? 'stop',
    durability: durability ?? 'process',
    ...(definition.outline === undefined ? {} : { outline: definition.outline() }),
  }
}

function rows(workflow: ReturnType<typeof explain>): (readonly [string, string])[] {
  const { kind, description, input, output, params, budget } = workflow
  return [
    ...(description === undefined ? [] : [['about', description] as const]),
    ['kind', kind],
    ['input', input === undefined ? 'anything' : `checked by a ${input.vendor} schema`],
    ['output', output === undefined ? 'anything' : `checked by a ${output.vendor} schema`],
    ['params', params === undefined ? 'none' : (toJson(params) ?? '')],
    ['budget', budget === undefined ? 'none' : budgetText(budget)],
    ['on failure', workflow.errorPolicy],
    ['durability', workflow.durability],
  ]
}
