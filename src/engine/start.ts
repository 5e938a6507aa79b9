/** Checks made before a run exists: what they refuse leaves nothing behind. */
import { checkKnown } from '../base/check-known.ts'
import { NerveError } from '../base/nerve-error.ts'
import { parseWith } from '../base/schema.ts'
import { checkValue } from '../base/value.ts'
import { FORMAT, type Actor, type Budget, type Durability, type RunCreated } from '../journal/events.ts'
import type { AnyDefinition, Names } from './definition.ts'
import { problemsIn } from './recursion.ts'

export interface StartOptions extends Actor {
  readonly input?: unknown
  readonly params?: Readonly<Record<string, unknown>>
  /** Laid over the definition's own budget. */
  readonly budget?: Budget
  readonly durability?: Durability
  /** Where the definition can be loaded from again. */
  readonly source?: string
}

/** What nobody can start, before anything is done for it. */
export function checkStart(definition: AnyDefinition, options: StartOptions): void {
  if (typeof definition !== 'object' || definition === null || typeof definition.run !== 'function') {
    throw new NerveError('bad-definition', 'This is not a definition. Make one with workflow(name, options, fn).')
  }
  checkKnown('start', options, ['input', 'params', 'budget', 'durability', 'source', 'by', 'via'])
}

export async function checkInput(definition: AnyDefinition, input: unknown, names: Names): Promise<unknown> {
  checkDefinition(definition, names)
  const schema = definition.options.input
  const what = `The input of '${definition.name}'`
  const checked: unknown = schema === undefined ? input : await parseWith(schema, input, { code: 'bad-input', what })
  checkValue(checked, what)
  return checked
}

/** Every problem at once. */
function checkDefinition(definition: AnyDefinition, names: Names): void {
  const problems = problemsIn(definition, names)
  if (problems.length === 0) return
  const [first, ...others] = problems
  throw new NerveError(
    'bad-definition',
    others.length === 0
      ? `${definition.kind} '${definition.name}': ${first}`
      : `${definition.kind} '${definition.name}' has ${problems.length} problems:\n${problems.map((text) => `  - ${text}`).join('\n')}`,
    { data: { problems } },
  )
}

const KNOWN: readonly string[] = ['usd', 'tokens', 'calls', 'steps', 'seconds', 'depth']

export function checkBudget(budget: Budget | undefined): void {
  if (budget === undefined) return
  for (const [dimension, limit] of Object.entries(budget)) {
    if (!KNOWN.includes(dimension)) {
      throw new NerveError(
        'bad-option',
        `budget: '${dimension}' is not something that can be limited. Known: ${KNOWN.join(', ')}.`,
      )
    }
    if (typeof limit !== 'number' || !(limit >= 0 && limit < Infinity))
      throw new NerveError(
        'bad-option',
        `budget: ${dimension} is ${String(limit)}; give a number from 0, or leave it out.`,
      )
  }
}

/** Parameters are plain JSON: what a run reads live is what it reads after a crash. */
function checkParams(name: string, params: StartOptions['params']): void {
  if (params === undefined || checkValue(params, `The params of '${name}'`).plain) return
  throw new NerveError('bad-value', `The params of '${name}' hold something that JSON cannot. Give plain data.`)
}

/** The first event of a run. */
export function createdEvent(
  definition: AnyDefinition,
  options: StartOptions,
  link: { readonly root: string; readonly depth: number; readonly parent?: RunCreated['parent'] },
): RunCreated {
  const { name, options: own } = definition
  const budget: Budget | undefined = options.budget === undefined ? own.budget : { ...own.budget, ...options.budget }
  checkBudget(budget)
  checkParams(name, options.params)
  const durability = options.durability ?? own.durability
  return {
    type: 'run-created',
    format: FORMAT,
    definition: name,
    root: link.root,
    depth: link.depth,
    ...(link.parent === undefined ? {} : { parent: link.parent }),
    ...(options.by === undefined ? {} : { by: options.by }),
    ...(options.via === undefined ? {} : { via: options.via }),
    ...(options.source === undefined ? {} : { source: options.source }),
    ...(options.params === undefined ? {} : { params: options.params }),
    ...(budget === undefined ? {} : { budget }),
    ...(durability === undefined ? {} : { durability }),
    ...(own.errorPolicy === undefined ? {} : { errorPolicy: own.errorPolicy }),
    ...(options.input === undefined ? {} : { input: options.input }),
  }
}
