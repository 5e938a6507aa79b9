/** Everything that is wrong with a spec, found before anything is made of it. Pure. */
import { nearest } from '../../base/nearest.ts'
import { shown } from '../../base/shown.ts'
import type { Names } from '../../engine/definition.ts'
import { isLabel } from '../../engine/scope.ts'
import type { ControlForm } from '../control/control.ts'
import type { Sight } from './expression-check.ts'
import { DEEPEST, expressionProblems, fillExpressions, templateProblems } from './expression-fields.ts'
import { pickForm } from './form.ts'
import { schemaProblems } from './input-schema.ts'
import {
  checkShape,
  isRecord,
  unknownField,
  type JsonSchema,
  type Key,
  type Resolve,
  type ShapeProblem,
} from '../../base/json-schema.ts'
import { DEFS, LABEL, NESTED_FIELDS, SPEC_FIELDS, SPEC_REQUIRED, STEP_FIELDS, stepFields } from './spec-schema.ts'
import { afterOf, entriesOf, structureProblems, type StepEntry } from './step-entries.ts'

export interface SpecRules {
  readonly forms: readonly ControlForm[]
  /** The nodes that it can refer to; without them, names are not checked. */
  readonly names?: Names
}

type Path = readonly Key[]
type Problems = readonly ShapeProblem[]

export const NOT_A_SPEC = 'a spec is an object with nerve, name and steps.'
const LABELS = "use 1 to 200 characters without '/', '#' and line breaks"
const STEP_SIGHT: readonly string[] = ['input', 'params', 'results', 'errors']
const OUTPUT_SIGHT: readonly string[] = ['input', 'params', 'results']
/** What expressions of control nodes see, unless their field says more with `facts`. */
const CONTROL_SIGHT: readonly string[] = ['input', 'params']

export function checkSpec(data: unknown, rules: SpecRules): Problems {
  if (!isRecord(data)) return [{ path: [], message: NOT_A_SPEC }]
  return new SpecCheck(rules, madeNames(data)).graph(data, [], { fields: SPEC_FIELDS, required: SPEC_REQUIRED })
}

/** Steps alone, as a model plans them. */
export function checkPlan(data: unknown, rules: SpecRules): Problems {
  const { steps, output } = NESTED_FIELDS
  return new SpecCheck(rules, madeNames(data)).graph(data, [], {
    fields: { ...(steps === undefined ? {} : { steps }), ...(output === undefined ? {} : { output }) },
    required: ['steps'],
  })
}

interface Fields {
  readonly fields: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
}

class SpecCheck {
  readonly #rules: SpecRules
  readonly #made: ReadonlySet<string>

  constructor(rules: SpecRules, made: ReadonlySet<string>) {
    this.#rules = rules
    this.#made = made
  }

  graph(data: unknown, path: Path, { fields, required }: Fields): Problems {
    const ids = isRecord(data) ? entriesOf(data['steps']).map(({ id }) => id) : []
    const schema = { type: 'object', properties: fields, required, additionalProperties: false }
    return checkShape(schema, data, {
      path,
      resolve: this.#resolver({ names: OUTPUT_SIGHT, results: ids, steps: ids }),
    })
  }

  #resolver(sight: Sight): Resolve {
    return (ref) => {
      const name = ref.replace('#/$defs/', '')
      switch (name) {
        case 'expression':
          return (value, path, { facts }) =>
            expressionProblems(value, path, Array.isArray(facts) ? { ...sight, names: facts.map(String) } : sight)
        case 'label':
          return (value, path) =>
            isLabel(value) ? [] : [{ path, message: `${shown(value)} is not a name: ${LABELS}.` }]
        case 'template':
          return (value, path) => templateProblems(value, path, sight)
        case 'schema':
          return (value, path) => schemaProblems(value, []).map((one) => ({ ...one, path: [...path, ...one.path] }))
        case 'node':
          return (value, path) => this.#node(value, path)
        case 'steps':
          return (value, path) => this.#steps(value, path)
        case 'graph':
          return (value, path) => this.graph(value, path, { fields: NESTED_FIELDS, required: ['steps'] })
        default:
          return DEFS[name]
      }
    }
  }

  #steps(value: unknown, path: Path): Problems {
    if (path.length > DEEPEST) return [{ path, message: 'is nested too deep.' }]
    if (!isRecord(value) && !Array.isArray(value))
      return [{ path, message: 'should be an object of steps by their ids, or a list of steps with ids.' }]
    const entries = entriesOf(value)
    const ids = entries.map(({ id }) => id)
    const all = { ids, known: new Set(ids) }
    return [
      ...entries.flatMap((entry) => this.#step(entry, [...path, entry.at], all)),
      ...structureProblems(entries, path),
    ]
  }

  #step({ id, step, at }: StepEntry, path: Path, { ids, known }: Ids): Problems {
    if (!isRecord(step)) return [{ path, message: "should be an object, such as { node: 'name' }." }]
    const after = afterOf(step)
    const own = Object.entries(step).filter(([key]) => Object.hasOwn(STEP_FIELDS, key))
    const others = Object.entries(step).filter(([key]) => !Object.hasOwn(STEP_FIELDS, key) && key !== 'id')
    const other = typeof at === 'string' && step['id'] !== undefined && step['id'] !== id
    return [
      ...checkShape({ properties: STEP_FIELDS }, Object.fromEntries(own), {
        path,
        resolve: this.#resolver({ names: STEP_SIGHT, results: after, steps: ids }),
      }),
      ...after
        .filter((one) => !known.has(one))
        .map((one) => ({ path: [...path, 'after'], message: `there is no step '${one}'.${nearStep(one, id, ids)}` })),
      ...(other ? [{ path: [...path, 'id'], message: `is not the id under which it stands, '${id}'.` }] : []),
      ...this.#runs(Object.fromEntries(others), path),
    ]
  }

  /** What a step runs: a node, a graph, or a control node whose fields stand beside the step's own. */
  #runs(data: Readonly<Record<string, unknown>>, path: Path): Problems {
    const way = ['node', 'graph'].find((one) => Object.hasOwn(data, one))
    if (way !== undefined) {
      const resolve = this.#resolver({ names: CONTROL_SIGHT })
      return [
        ...checkShape({ $ref: `#/$defs/${way}` }, data[way], { path: [...path, way], resolve }),
        ...unknownFields(data, path, [way], Object.keys(STEP_FIELDS)),
      ]
    }
    const picked = pickForm(data, this.#rules.forms)
    if ('problem' in picked) return [{ path, message: picked.problem }]
    const fields = stepFields(picked.form)
    if (picked.form.required.some((name) => !Object.hasOwn(fields, name)))
      return [{ path, message: `a ${picked.form.kind} has fields with the names of a step's: put it under node.` }]
    return [
      ...this.#form(picked.form, data, path),
      ...unknownFields(data, path, ['kind', ...Object.keys(fields)], Object.keys(STEP_FIELDS)),
    ]
  }

  #form({ fields, required }: ControlForm, data: Readonly<Record<string, unknown>>, path: Path): Problems {
    return checkShape({ properties: fields, required }, fillExpressions(data, fields), {
      path,
      resolve: this.#resolver({ names: CONTROL_SIGHT }),
    })
  }

  #node(value: unknown, path: Path): Problems {
    if (path.length > DEEPEST) return [{ path, message: 'is nested too deep.' }]
    if (typeof value === 'string') return this.#name(value, path)
    if (!isRecord(value)) return [{ path, message: 'should be the name of a node, a control node or a graph.' }]
    if (Object.hasOwn(value, 'graph'))
      return [
        ...this.graph(value['graph'], [...path, 'graph'], { fields: NESTED_FIELDS, required: ['steps'] }),
        ...unknownFields(value, path, ['graph']),
      ]
    const picked = pickForm(value, this.#rules.forms)
    if ('problem' in picked) return [{ path, message: picked.problem }]
    return [
      ...checkShape({ properties: { id: LABEL } }, value, { path, resolve: this.#resolver({ names: [] }) }),
      ...this.#form(picked.form, value, path),
      ...unknownFields(value, path, ['kind', 'id', ...Object.keys(picked.form.fields)]),
    ]
  }

  #name(name: string, path: Path): Problems {
    const { names } = this.#rules
    if (names === undefined || names.get(name) !== undefined || this.#made.has(name)) return []
    const known = [...names.keys()]
    const hint = near(name, known)
    const all = known.length === 0 ? 'None is known.' : `Known: ${known.slice(0, 20).join(', ')}.`
    return [{ path, message: `there is no node '${name}'.${hint === '' ? ` ${all}` : hint}` }]
  }
}

function unknownFields(
  data: Readonly<Record<string, unknown>>,
  path: Path,
  known: readonly string[],
  beside: readonly string[] = [],
): Problems {
  return Object.keys(data)
    .filter((key) => !known.includes(key))
    .map((key) => ({ path: [...path, key], message: unknownField(key, [...known, ...beside]), key: true }))
}

/** Names that forks in it make known while it runs. */
function madeNames(data: unknown, found = new Set<string>(), depth = 0): ReadonlySet<string> {
  if (typeof data !== 'object' || data === null || depth > DEEPEST) return found
  if (isRecord(data) && 'from' in data && typeof data['to'] === 'string') found.add(data['to'])
  for (const one of Object.values(data)) madeNames(one, found, depth + 1)
  return found
}

interface Ids {
  readonly ids: readonly string[]
  readonly known: ReadonlySet<string>
}

function nearStep(word: string, own: string, ids: readonly string[]): string {
  return near(
    word,
    ids.filter((id) => id !== own),
  )
}

function near(word: string, known: readonly string[]): string {
  const found = nearest(word, known)
  return found === undefined ? '' : ` Did you mean '${found}'?`
}
