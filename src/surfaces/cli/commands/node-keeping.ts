/** `nerve node create`, `fork` and `remove`: they change what is recorded, and start nothing. */
import { resolve } from 'node:path'
import { NerveError, isNerveError } from '../../../base/nerve-error.ts'
import {
  DEFAULT_SESSION,
  nodeFactory,
  withDefaults,
  type CatalogEntry,
  type NodeConfig,
  type Session,
} from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { findNode, withNodes, type ProjectNodes } from '../project-nodes.ts'
import { parsePairs, parseValue } from '../values.ts'

export function run(invocation: Invocation): Promise<number> {
  const { command, out } = invocation
  const way = command === 'node create' ? create : command === 'node fork' ? fork : remove
  return withNodes(invocation, async (nodes) => {
    const { session, name, said } = await way(invocation, nodes)
    out.data({ session, node: name })
    out.line(`${name}  ${said} session ${session}`)
    return EXIT.done
  })
}

interface Done {
  readonly session: string
  readonly name: string
  readonly said: string
}

async function create(invocation: Invocation, nodes: ProjectNodes): Promise<Done> {
  const { args, dir } = invocation
  const [name = ''] = args.words
  const wanted = args.text('session') ?? DEFAULT_SESSION
  const there = nodes.catalog.find((entry) => entry.name.toLowerCase() === name.toLowerCase())
  if (there !== undefined)
    throw new NerveError('bad-option', `The name '${name}' is taken by a ${there.kind} of session '${there.session}'.`)
  const config = withDefaults(configOf(invocation, name), { dir, fields: nodes.config?.fields ?? {} })
  const node = await nodeFactory.create(config)
  const { omitted = [] } = nodeFactory.recorded(node) ?? {}
  if (omitted.length > 0)
    throw new NerveError(
      'bad-option',
      `${omitted.join(', ')} looks like a secret, and secrets are not recorded. Let the node take it from the environment ` +
        '(--set inherit=\'["NAME"]\'), or make the node in nerve.config.ts.',
      { data: { omitted } },
    )
  const session = await opened(nodes, wanted)
  await session.add(node)
  return { session: session.name, name, said: `${config.kind} in` }
}

/** The session, made when there is none. */
async function opened({ open, sessions }: ProjectNodes, name: string): Promise<Session> {
  try {
    return await open(name)
  } catch (error) {
    if (!isNerveError(error, 'not-found')) throw error
    return sessions.create({ name })
  }
}

const FIELDS: readonly string[] = ['command', 'timeout', 'url', 'method', 'in']

function configOf({ args, cwd }: Invocation, id: string): NodeConfig {
  const kind = args.text('kind')
  if (kind === undefined)
    throw new UsageError(`nerve node create: of what kind? Give --kind ${nodeFactory.kinds().join(' | ')}.`)
  const whole = args.text('config')
  const given: unknown = whole === undefined ? {} : parseValue(whole)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new UsageError('nerve node create: --config is not a JSON object.')
  const single = FIELDS.flatMap((field) => {
    const text = args.text(field)
    return text === undefined ? [] : [[field, text] as const]
  })
  const folder = args.text('cwd')
  return {
    ...given,
    ...parsePairs(args.texts('set'), '--set'),
    ...Object.fromEntries(single),
    ...(folder === undefined ? {} : { cwd: resolve(cwd, folder) }),
    kind,
    id,
  }
}

async function fork(invocation: Invocation, { open, catalog }: ProjectNodes): Promise<Done> {
  const entry = findNode(catalog, invocation)
  const session = await open(entry.session)
  const name = await session.fork(entry.name, invocation.args.words[1])
  return { session: session.name, name, said: `is a copy of ${entry.name} in` }
}

async function remove(invocation: Invocation, { open, sessions, catalog }: ProjectNodes): Promise<Done> {
  const entry = findNode(catalog, invocation)
  const { session, name, planned, pane } = entry
  if (planned) throw new NerveError('bad-option', `'${name}' comes from nerve.config: take it out there.`)
  if (pane === undefined) await sessions.forget(session, name)
  else await endPane(entry, await open(session))
  return { session, name, said: 'was removed from' }
}

/** What lives on without this process ends with its node, which need not be able to start for that. */
async function endPane({ name }: CatalogEntry, session: Session): Promise<void> {
  try {
    await session.node(name).node.stop?.()
  } catch (error) {
    // Where the program of the panes is not, none of them is either.
    if (!isNerveError(error, 'pane-failed') || error.data['reason'] !== 'missing') throw error
  }
  await session.remove(name)
}
