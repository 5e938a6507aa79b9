/** `nerve explain`. */
import { loadDefinitions, type AnyDefinition } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { budgetText } from '../event-lines.ts'
import { EXIT } from '../exit-code.ts'
import { clean, toJson } from '../printable.ts'

export async function run({ args, out }: Invocation): Promise<number> {
  const file = args.words[0] ?? ''
  const workflows = (await loadDefinitions(file)).map(explain)
  out.data({ file, workflows })
  for (const workflow of workflows) {
    out.line(out.tone(workflow.name, 'bold'))
    for (const [name, text] of rows(workflow)) out.line(`  ${name.padEnd(12)}${clean(text)}`)
  }
  out.line('')
  out.line('A workflow is an async function: its steps are known when it runs, so there is no graph to show before.')
  return EXIT.done
}

function explain({ name, options }: AnyDefinition) {
  const { description, input, output, params, budget, errorPolicy, durability } = options
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(input === undefined ? {} : { input: { vendor: input['~standard'].vendor } }),
    ...(output === undefined ? {} : { output: { vendor: output['~standard'].vendor } }),
    ...(params === undefined ? {} : { params }),
    ...(budget === undefined ? {} : { budget }),
    errorPolicy: errorPolicy ?? 'stop',
    durability: durability ?? 'process',
  }
}

function rows(workflow: ReturnType<typeof explain>): (readonly [string, string])[] {
  const { description, input, output, params, budget } = workflow
  return [
    ...(description === undefined ? [] : [['about', description] as const]),
    ['input', input === undefined ? 'anything' : `checked by a ${input.vendor} schema`],
    ['output', output === undefined ? 'anything' : `checked by a ${output.vendor} schema`],
    ['params', params === undefined ? 'none' : (toJson(params) ?? '')],
    ['budget', budget === undefined ? 'none' : budgetText(budget)],
    ['on failure', workflow.errorPolicy],
    ['durability', workflow.durability],
  ]
}
