/**
 * Nodes from data: a kind, an id and fields. The factory remembers what it made each node from, so that a session can make
 * it again after a restart. What is recorded of it has no secrets in it.
 */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { nearest } from '../../base/nearest.ts'
import { parseWith, type Schema } from '../../base/schema.ts'
import type { AnyNode } from '../../engine/definition.ts'
import { isDefinition, isNode } from '../../engine/run-node.ts'
import { createRedactor, isSecretField, type Redactor } from '../../base/redact.ts'
import { checkName } from './session-names.ts'

export interface NodeConfig {
  readonly kind: string
  readonly id: string
  readonly [field: string]: unknown
}

/** A configuration as it may be written down. */
export interface RecordedConfig {
  readonly config: NodeConfig
  /** What it leaves out, as paths in it: secrets, and what is not data. */
  readonly omitted?: readonly string[]
}

export type NodeFields = Readonly<Record<string, unknown>>

type Make<Fields> = (id: string, fields: Fields) => AnyNode | Promise<AnyNode>

export interface KindOptions<Fields> {
  /** Checks (and may convert) the fields. */
  readonly fields?: Schema<Fields>
  /** Fields that a node may choose by itself, and that it must have again when it is made again: its info has them. */
  readonly keeps?: readonly string[]
  /** True when its nodes give text that a parser can read: then a configuration may have the name of one as `parser`. */
  readonly parsable?: boolean
}

export interface NodeFactory {
  /** Makes a kind known. A kind that is known already is an error. */
  register<Fields = NodeFields>(kind: string, make: Make<Fields>, options?: KindOptions<Fields>): void
  kinds(): readonly string[]
  create(config: NodeConfig): Promise<AnyNode>
  /** What a node was made from, if this factory made it. */
  recorded(node: AnyNode): RecordedConfig | undefined
  /** Another node from the same configuration; undefined when this factory did not make it. */
  again(node: AnyNode, id: string): Promise<AnyNode> | undefined
  /** Says that a node is a copy of one that this factory made: it can be made again in the same way. */
  inherit(copy: AnyNode, from: AnyNode): void
}

interface Kind {
  readonly make: Make<never>
  readonly fields: Schema<unknown> | undefined
  readonly keeps: readonly string[]
  readonly parsable: boolean
}

/**
 * A factory with no kinds in it.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { createNodeFactory } from 'nerve/sessions'
 *
 * const factory = createNodeFactory()
 * factory.register('greeter', (id, { word }) => defineNode(id, (name: string) => `${word} ${name}`))
 * const hello = await factory.create({ kind: 'greeter', id: 'hello', word: 'Hello' })
 * console.log(hello.id)
 * ```
 */
export function createNodeFactory(redactor: Redactor = createRedactor()): NodeFactory {
  const kinds = new Map<string, Kind>()
  const made = new WeakMap<AnyNode, NodeConfig>()
  const create = async (given: NodeConfig): Promise<AnyNode> => {
    const { kind: name, id, ...fields } = checkConfig(given, kinds)
    const kind = kinds.get(name) as Kind
    const { parser, ...rest } = fields
    const parse = kind.parsable && parser !== undefined ? await parserFor(id, parser) : undefined
    const node = await make(kind, { kind: name, id, fields: kind.parsable ? rest : fields })
    if (parse !== undefined) Object.assign(node, { parser: parse })
    made.set(node, given)
    return node
  }
  return {
    register(kind, make, options = {}) {
      checkName(kind, 'a kind of node')
      if (typeof make !== 'function')
        throw new NerveError('bad-option', `Kind '${kind}' has no function: register(kind, (id, fields) => node).`)
      if (kinds.has(kind)) throw new NerveError('bad-option', `There is a kind '${kind}' already.`)
      kinds.set(kind, {
        make: make as Make<never>,
        fields: options.fields,
        keeps: options.keeps ?? [],
        parsable: options.parsable ?? false,
      })
    },
    kinds: () => [...kinds.keys()],
    create,
    recorded(node) {
      const config = made.get(node)
      if (config === undefined) return undefined
      return recordable({ ...config, ...chosen(node, kinds.get(config.kind)?.keeps ?? []) }, redactor)
    },
    again(node, id) {
      const config = made.get(node)
      return config === undefined ? undefined : create({ ...config, id })
    },
    inherit(copy, from) {
      const config = made.get(from)
      if (config !== undefined && !made.has(copy)) made.set(copy, { ...config, id: copy.id })
    },
  }
}

export function isNodeConfig(value: unknown): value is NodeConfig {
  if (typeof value !== 'object' || value === null || isNode(value) || isDefinition(value)) return false
  return 'kind' in value && 'id' in value
}

function checkConfig(given: unknown, kinds: ReadonlyMap<string, Kind>): NodeConfig {
  if (typeof given !== 'object' || given === null)
    throw new NerveError('bad-option', 'The configuration of a node is not an object: { kind, id, … }.')
  const { kind, id } = given as Readonly<Record<string, unknown>>
  if (typeof kind !== 'string' || !kinds.has(kind)) {
    const known = [...kinds.keys()]
    const meant = typeof kind === 'string' ? nearest(kind, known) : undefined
    throw new NerveError(
      'bad-option',
      `kind: ${JSON.stringify(kind)} is not a kind of node. ${meant === undefined ? '' : `Did you mean '${meant}'? `}` +
        (known.length === 0 ? 'None is registered: factory.register(kind, make).' : `Known: ${known.join(', ')}.`),
      { data: { field: 'kind' } },
    )
  }
  checkName(id, `the id of a node (${kind})`)
  return given as NodeConfig
}

interface Making {
  readonly kind: string
  readonly id: string
  readonly fields: NodeFields
}

async function make({ make: made, fields: schema }: Kind, { kind, id, fields }: Making): Promise<AnyNode> {
  const what = `The configuration of '${id}' (${kind})`
  const checked = schema === undefined ? fields : await parseWith(schema, fields, { code: 'bad-option', what })
  let node: unknown
  try {
    node = await made(id, checked as never)
  } catch (cause) {
    if (isNerveError(cause)) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new NerveError('bad-option', `${what} does not make a node: ${reason}`, { cause })
  }
  if (isNode(node) && node.id === id) return node
  throw new NerveError(
    'bad-definition',
    `The kind '${kind}' made ${isNode(node) ? `a node '${node.id}'` : 'no node'} when it was asked for '${id}'.`,
  )
}

async function parserFor(id: string, name: unknown): Promise<(output: never) => unknown> {
  const { parsed, parserNamed } = await import('../../nodes/parsers/registry.ts')
  if (typeof name !== 'string') throw new NerveError('bad-option', `'${id}': parser is not the name of a parser.`)
  return parsed(parserNamed(name).name as Parameters<typeof parsed>[0])
}

/** What the node has chosen by itself. */
function chosen(node: AnyNode, names: readonly string[]): NodeFields {
  const { config = {} } = node.info() as { readonly config?: NodeFields }
  return Object.fromEntries(names.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]])))
}

function recordable(config: NodeConfig, redactor: Redactor): RecordedConfig {
  const omitted: string[] = []
  const kept = strip(config, { redactor, path: '', omitted }) as NodeConfig
  return { config: kept, ...(omitted.length === 0 ? {} : { omitted }) }
}

interface Stripping {
  readonly redactor: Redactor
  readonly path: string
  readonly omitted: string[]
}

/** The value as data, without what must not or cannot be written: the paths of that are added to `omitted`. */
function strip(value: unknown, { redactor, path, omitted }: Stripping): unknown {
  const name = path.slice(path.lastIndexOf('.') + 1)
  const secret = typeof value === 'string' && (isSecretField(name) || redactor.finds(value))
  if (secret || !isData(value)) {
    omitted.push(path)
    return undefined
  }
  if (typeof value !== 'object' || value === null) return value
  const inside = (key: string | number): Stripping => ({
    redactor,
    omitted,
    path: path === '' ? `${key}` : `${path}.${key}`,
  })
  if (Array.isArray(value)) return value.map((one, at) => strip(one, inside(at)))
  const fields = Object.entries(value).map(([key, one]) => [key, strip(one, inside(key))] as const)
  return Object.fromEntries(fields.filter(([, one]) => one !== undefined))
}

function isData(value: unknown): boolean {
  if (value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return false
  const form: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || form === Object.prototype || form === null
}
