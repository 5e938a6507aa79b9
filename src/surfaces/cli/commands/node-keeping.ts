/** `nerve node create`, `fork` and `remove`: they change what is recorded, and start nothing. */
import { resolve } from 'node:path'
import { NerveError, isNerveError } from '../../../base/nerve-error.ts'
import type { NodeConfig } from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { findNode, placeOf, withNodes, type ProjectNodes } from '../project-nodes.ts'
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

async function create(invocation: Invocation, { client, catalog }: ProjectNodes): Promise<Done> {
  const { args } = invocation
  const [name = ''] = args.words
  const there = catalog.find((entry) => entry.name.toLowerCase() === name.toLowerCase())
  if (there !== undefined)
    throw new NerveError('bad-option', `The name '${name}' is taken by a ${there.kind} of session '${there.session}'.`)
  const wanted = args.text('session')
  const kind = args.text('kind')
  if (kind === undefined)
    throw new UsageError(
      `nerve node create: of what kind? Give --kind ${(await client.call('nodes.kinds', {})).join(' | ')}.`,
    )
  const config = configOf(invocation, { kind, id: name })
  try {
    const { session } = await client.call('nodes.create', {
      config,
      ...(wanted === undefined ? {} : { session: wanted }),
    })
    return { session, name, said: `${kind} in` }
  } catch (error) {
    throw withOption(error)
  }
}

/** What is said of secrets, in the words of this command. */
function withOption(error: unknown): unknown {
  if (!isNerveError(error, 'bad-option') || error.data['omitted'] === undefined) return error
  const { code, message, data } = error
  return new NerveError(code, message.replace('(inherit)', `(--set inherit='["NAME"]')`), { data, cause: error })
}

const FIELDS: readonly string[] = ['command', 'timeout', 'url', 'method', 'in']

function configOf({ args, cwd }: Invocation, named: Pick<NodeConfig, 'kind' | 'id'>): NodeConfig {
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
    ...named,
  }
}

async function fork(invocation: Invocation, { client, catalog }: ProjectNodes): Promise<Done> {
  const entry = findNode(catalog, invocation)
  const as = invocation.args.words[1]
  const { session, node } = await client.call('nodes.fork', {
    ...placeOf(entry),
    ...(as === undefined ? {} : { as }),
  })
  return { session, name: node, said: `is a copy of ${entry.name} in` }
}

async function remove(invocation: Invocation, { client, catalog }: ProjectNodes): Promise<Done> {
  const entry = findNode(catalog, invocation)
  await client.call('nodes.remove', placeOf(entry))
  return { session: entry.session, name: entry.name, said: 'was removed from' }
}
