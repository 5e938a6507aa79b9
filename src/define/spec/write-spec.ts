/** From a graph to its spec. What cannot be written down is told all at once, with the step that it is in. */
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable } from '../../engine/definition.ts'
import { isNode } from '../../engine/run-node.ts'
import { given, sourceOf, type ControlNode, type SpecWriter } from '../control/control.ts'
import { isGraph, type Graph } from '../graph.ts'
import type { GraphStep } from '../graph-steps.ts'
import { jsonSchemaOf } from './input-schema.ts'
import { isRecord } from '../../base/json-schema.ts'
import type { Spec, SpecStep } from './spec.ts'
import { GRAPH_FIELDS, STEP_FIELDS } from './spec-schema.ts'
import { asTemplate, templateOf } from './template.ts'

/**
 * A graph as a spec. It can be written down when its nodes have names and its functions are made by `expr` and `template`.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { graph } from 'nerve/graph'
 * import { expr, fromSpec, toSpec } from 'nerve/spec'
 *
 * const shout = defineNode('shout', (text: string) => text.toUpperCase())
 * const loud = graph<string>('loud').step('shout', shout, { inputFn: expr('input') })
 * const again = fromSpec(toSpec(loud), { names: new Map([['shout', shout]]) })
 * ```
 */
export function toSpec(graph: WritableGraph): Spec {
  const writing = new SpecWriting()
  const { name, ...fields } = writing.graph(graph)
  if (writing.problems.length > 0) {
    const { problems } = writing
    throw new NerveError(
      'bad-definition',
      `Graph '${graph.name}' cannot be written as a spec:\n${problems.map((text) => `  - ${text}`).join('\n')}`,
      { data: { problems } },
    )
  }
  return { nerve: 1, name: name ?? graph.name, ...fields } as Spec
}

/** A graph of any input and results. */
export type WritableGraph = Pick<Graph, 'name' | 'steps' | 'made'>

type Fields = Readonly<Record<string, unknown>>

class SpecWriting {
  readonly problems: string[] = []
  /** The steps around what is being written. */
  readonly #inside: string[] = []
  readonly #graphs = new Set<WritableGraph>()

  graph(graph: WritableGraph): Fields & { readonly name?: string } {
    if (this.#graphs.has(graph)) {
      this.#cannot('it runs itself, which has no end when written down')
      return {}
    }
    this.#graphs.add(graph)
    const { options, returns } = graph.made()
    const { input, ...plain } = options
    const steps = graph.steps().map((step) => this.#within(step.id, () => [step.id, this.#step(step)] as const))
    const written = {
      ...given(plain),
      ...(graph.name === 'graph' && this.#inside.length > 0 ? {} : { name: graph.name }),
      ...(input === undefined ? {} : { input: this.#schema(input) }),
      ...(plain.maxParallel === Infinity ? { maxParallel: undefined } : {}),
      steps: this.#steps(steps),
      ...(returns === undefined ? {} : { output: this.#expression('what it returns', returns) }),
    }
    this.#graphs.delete(graph)
    return this.#plain(given(written), this.#inside.length > 0 ? NESTED : undefined)
  }

  /** By their ids, in order; as a list when an object would put its ids in another order. */
  #steps(steps: readonly (readonly [string, SpecStep])[]): Spec['steps'] {
    const reordered = steps.some(([id]) => /^(?:0|[1-9]\d*)$/u.test(id))
    return reordered ? steps.map(([id, step]) => ({ id, ...step })) : Object.fromEntries(steps)
  }

  #step({ node, after, input, inputFn, when, policy, parser, handles }: GraphStep): SpecStep {
    if (parser !== undefined) this.#cannot('it has a parser, which is a function')
    return {
      ...this.#runs(node),
      ...(after.length === 0 ? {} : { after }),
      ...(inputFn === undefined ? {} : { input: this.#template(inputFn) }),
      ...(input === undefined ? {} : { input: asTemplate(this.#json('input', input)) }),
      ...(when === undefined ? {} : { when: this.#expression('its condition', when) }),
      ...(policy === undefined ? {} : { policy: this.#json('policy', policy) }),
      ...(handles === undefined ? {} : { handles }),
    }
  }

  /** Beside the fields of the step where they do not collide, else under `node`. */
  #runs(node: AnyRunnable | string): Fields {
    const written = this.#node(node)
    if (!isRecord(written)) return { node: written }
    const collides = Object.keys(written).some((key) => key === 'id' || Object.hasOwn(STEP_FIELDS, key))
    return collides ? { node: written } : written
  }

  /** A node by its name, and what is more than a name by its data. */
  readonly #node = (node: AnyRunnable | string): unknown => {
    if (typeof node === 'string') return node
    if (isNode(node)) return node.id
    if (isGraph(node)) return { graph: this.graph(node) }
    const { write, kind, name } = node as ControlNode
    if (write === undefined) return name
    const schema: SpecWriter['schema'] = (what, one) => this.#schema(one, what)
    const writer: SpecWriter = { node: this.#node, expression: this.#expression, schema }
    const fields = this.#json(`${kind} '${name}'`, write(writer)) as Fields
    return { kind, ...(name === kind ? {} : { id: name }), ...fields }
  }

  #template(make: NonNullable<GraphStep['inputFn']>): unknown {
    const template = templateOf(make)
    if (template !== undefined) return template.data
    const text = this.#expression('its input', make)
    return typeof text === 'string' ? `\${{ ${text} }}` : text
  }

  readonly #expression = (what: string, make: unknown): unknown => {
    const text = sourceOf(make)
    if (text === undefined) this.#cannot(`${what} is code: make it with expr(…)`)
    return text ?? null
  }

  #schema(schema: object, what = 'the schema of its input'): unknown {
    const source = jsonSchemaOf(schema)
    if (source === undefined) this.#cannot(`${what} is code: make it with jsonSchema(…)`)
    return source ?? null
  }

  /** Nested graphs have no run of their own, and so nothing that only runs have. */
  #plain(fields: Fields, known: readonly string[] | undefined): Fields {
    for (const key of Object.keys(fields))
      if (known !== undefined && !known.includes(key)) this.#cannot(`the graph has ${key}, which only a run can have`)
    return fields
  }

  #json(what: string, value: unknown): unknown {
    const where = notJson(value, what)
    if (where !== undefined) this.#cannot(`${where}, which JSON cannot hold`)
    return value
  }

  #cannot(why: string): void {
    const [id, ...inner] = this.#inside
    const where = id === undefined ? '' : `step '${[id, ...inner].join('/')}': `
    this.problems.push(`${where}${why}.`)
  }

  #within<Value>(id: string, write: () => Value): Value {
    this.#inside.push(id)
    try {
      return write()
    } finally {
      this.#inside.pop()
    }
  }
}

const NESTED: readonly string[] = ['name', ...Object.keys(GRAPH_FIELDS)]

/** Where a value holds something that JSON would lose, or undefined. */
function notJson(value: unknown, at: string, depth = 0): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? undefined : `${at} is ${value}`
  if (typeof value !== 'object') return `${at} is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`
  if (depth > 100) return `${at} is nested deeper than 100 levels`
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null)
    return `${at} is a ${(value.constructor as { name?: string } | undefined)?.name ?? 'special object'}`
  for (const [key, one] of Object.entries(value)) {
    const found = notJson(one, `${at}.${key}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
