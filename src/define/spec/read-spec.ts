/** From a spec to the graph that it describes. Everything is checked first, so that all problems are told at once. */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable, Policy } from '../../engine/definition.ts'
import { expressedCondition, given, type SpecReader } from '../control/control.ts'
import { graph, type Graph, type GraphOptions } from '../graph.ts'
import type { GraphStep } from '../graph-steps.ts'
import { checkPlan, checkSpec, type SpecRules } from './check-spec.ts'
import { expr, factsOf, type ExpressionFunction } from './expression.ts'
import { fillExpressions } from './expression-fields.ts'
import { pickForm } from './form.ts'
import { jsonSchema } from './input-schema.ts'
import type { JsonSchema, Key, ShapeProblem } from '../../base/json-schema.ts'
import { STEP_FIELDS } from './spec-schema.ts'
import { afterOf, entriesOf } from './step-entries.ts'
import { bareExpression, readTemplate } from './template.ts'

type Fields = Readonly<Record<string, unknown>>
/** A graph whose types nobody can know before it is read. */
export type SpecGraph = Graph<unknown, Readonly<Record<string, unknown>>, unknown>
type Read = { readonly graph: SpecGraph } | { readonly problems: readonly ShapeProblem[] }

export function readSpec(data: unknown, rules: SpecRules): Read {
  const problems = checkSpec(data, rules)
  return problems.length > 0 ? { problems } : build(data as Fields, rules)
}

/** Steps alone: `{ steps, output? }`, or the list of steps. */
export function readPlan(data: unknown, rules: SpecRules & { readonly name: string }): Read {
  const fields = Array.isArray(data) ? { steps: data } : data
  const problems = checkPlan(fields, rules)
  return problems.length > 0 ? { problems } : build({ ...(fields as Fields), name: rules.name }, rules)
}

function build(data: Fields, rules: SpecRules): Read {
  const building = new SpecBuild(rules)
  const made = building.graph(data, [])
  if (building.problems.length > 0) return { problems: building.problems }
  const problems = (rules.names === undefined ? made.validate() : made.validate(rules.names)).map((message) => ({
    path: stepPath(message, data),
    message,
  }))
  return problems.length > 0 ? { problems } : { graph: made }
}

/** Problems of a graph as a whole name their steps: the first one is where to look. */
function stepPath(message: string, data: Fields): readonly Key[] {
  const named = /'([^']*)'/u.exec(message)?.[1]
  const entry = entriesOf(data['steps']).find(({ id }) => id === named)
  return entry === undefined ? ['steps'] : ['steps', entry.at]
}

/** The builder without its types: what a spec says is checked, not inferred. */
interface Builder {
  step(id: string, node: AnyRunnable | string, options: Omit<GraphStep, 'id' | 'node'>): void
}

class SpecBuild {
  /** What only shows when it is put together. */
  readonly problems: ShapeProblem[] = []
  readonly #rules: SpecRules
  /** The step that is being made. */
  #at: readonly Key[] = []

  constructor(rules: SpecRules) {
    this.#rules = rules
  }

  graph(data: Fields, path: readonly Key[]): SpecGraph {
    const { name = 'graph', description, input, params, maxParallel, errorPolicy, budget, durability, output } = data
    const options = given({ description, params, maxParallel, errorPolicy, budget, durability }) as GraphOptions
    const made = graph(name as string, {
      ...options,
      ...(input === undefined ? {} : { input: jsonSchema(input as JsonSchema) }),
    }) as unknown as SpecGraph
    for (const { id, step, at } of entriesOf(data['steps'])) {
      this.#at = [...path, 'steps', at]
      this.#step(made, id, step as Fields)
    }
    return output === undefined ? made : made.returns(this.#expression(output))
  }

  #step(made: SpecGraph, id: string, step: Fields): void {
    const { input, when, policy, handles } = step
    const filled = input === undefined ? undefined : readTemplate(input)
    const options = {
      after: afterOf(step),
      ...(filled === undefined ? {} : 'make' in filled ? { inputFn: filled.make } : { input: filled.data }),
      ...given({ policy: policy as Policy | undefined, handles: handles as boolean | undefined }),
    }
    const node = this.#runs(step)
    const condition = when === undefined ? {} : { when: expressedCondition(this.#reader, when, factsOf) }
    ;(made as unknown as Builder).step(id, node, { ...options, ...condition })
  }

  #runs(step: Fields): AnyRunnable | string {
    if (step['node'] !== undefined) return this.#node(step['node'])
    if (step['graph'] !== undefined) return this.graph(step['graph'] as Fields, [...this.#at, 'graph'])
    const { id: _id, ...others } = Object.fromEntries(
      Object.entries(step).filter(([key]) => !Object.hasOwn(STEP_FIELDS, key)),
    )
    return this.#control(others)
  }

  readonly #node = (data: unknown): AnyRunnable | string => {
    if (typeof data === 'string') return this.#rules.names?.get(data) ?? data
    const fields = data as Fields
    return fields['graph'] === undefined ? this.#control(fields) : this.graph(fields['graph'] as Fields, this.#at)
  }

  #control(data: Fields): AnyRunnable | string {
    const path = this.#at
    try {
      const picked = pickForm(data, this.#rules.forms)
      if ('problem' in picked) throw new NerveError('bad-definition', picked.problem)
      return picked.form.read(fillExpressions(data, picked.form.fields), this.#reader)
    } catch (error) {
      if (!isNerveError(error)) throw error
      this.problems.push({ path, message: error.message })
      return 'any'
    } finally {
      this.#at = path
    }
  }

  readonly #expression = (text: unknown): ExpressionFunction => expr(bareExpression(String(text)))

  readonly #reader: SpecReader = {
    node: this.#node,
    expression: this.#expression,
    schema: (data) => jsonSchema(data as JsonSchema),
  }
}
