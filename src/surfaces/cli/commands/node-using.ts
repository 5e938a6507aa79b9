/** `nerve node run`, `write`, `read`, `interrupt`, `reset` and `stop`. */
import { NerveError } from '../../../base/nerve-error.ts'
import type { CatalogEntry } from '../../../host/node-api.ts'
import type { Client } from '../../client/client.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { keyNamed } from '../keys.ts'
import type { Output } from '../output.ts'
import { clean } from '../printable.ts'
import { findNode, placeOf, withNodes, type ProjectNodes } from '../project-nodes.ts'
import { untilSignal } from '../until-signal.ts'
import { readText, wholeNumber } from '../values.ts'

export function run(invocation: Invocation): Promise<number> {
  const { command, out } = invocation
  const way = WAYS[command.slice('node '.length) as keyof typeof WAYS]
  return withNodes(invocation, async (nodes) => {
    const entry = findNode(nodes.catalog, invocation)
    const { said, ...data } = await way(invocation, nodes, entry)
    out.data({ session: entry.session, node: entry.name, ...data })
    if (said !== '') out.line(said)
    return EXIT.done
  })
}

/** What is said to people, and beside it what is given as data. */
interface Done extends Readonly<Record<string, unknown>> {
  readonly said: string
}

type Way = (invocation: Invocation, nodes: ProjectNodes, entry: CatalogEntry) => Promise<Done>

const WAYS = {
  async run({ args }, nodes, entry) {
    const line = await readText(args.words[1] ?? '')
    await started(nodes, entry)
    await nodes.client.call('nodes.run', { ...placeOf(entry), line })
    return { said: `typed into ${entry.name}` }
  },
  async write({ args }, nodes, entry) {
    const text = args.words[1]
    const keys = args.texts('key').map(keyNamed).join('')
    if (text === undefined && keys === '') throw new UsageError('nerve node write: what? Give TEXT or --key KEY.')
    const whole = `${text === undefined ? '' : await readText(text)}${keys}`
    await started(nodes, entry)
    await nodes.client.call('nodes.write', { ...placeOf(entry), text: whole })
    return { said: `typed into ${entry.name}` }
  },
  async read({ args, out }, nodes, entry) {
    const tail = args.text('tail')
    const ways = ['tail', 'screen', 'follow'].filter((way) => args.flag(way))
    if (ways.length > 1)
      throw new UsageError(`nerve node read: give one of ${ways.map((way) => `--${way}`).join(' and ')}.`)
    const lines = tail === undefined ? {} : { tail: wholeNumber(tail, '--tail') }
    if (args.flag('follow')) return follow(out, nodes, entry)
    await checkLives(nodes, entry)
    if (args.flag('screen')) {
      const { text, screen } = await nodes.client.call('nodes.read', { ...placeOf(entry), screen: true })
      return { screen, said: clean(text).trimEnd() }
    }
    const { text } = await nodes.client.call('nodes.read', { ...placeOf(entry), ...lines })
    return { text, said: clean(text).replace(/\n$/, '') }
  },
  async interrupt(_invocation, { client }, entry) {
    const runs = await interruptRuns(client, entry)
    if (runs.length > 0) return { runs, said: `${entry.name} was interrupted in run ${runs.join(', ')}` }
    if (entry.pane === undefined && !(await isAtWork(client, entry)))
      return { runs, said: `Nothing runs in ${entry.name}.` }
    await client.call('nodes.interrupt', placeOf(entry))
    return { runs, said: `${entry.name} was interrupted` }
  },
  async reset(_invocation, nodes, entry) {
    await checkLives(nodes, entry)
    await nodes.client.call('nodes.reset', placeOf(entry))
    return { said: `${entry.name} has started again` }
  },
  async stop(_invocation, nodes, entry) {
    await checkLives(nodes, entry)
    await nodes.client.call('nodes.stop', placeOf(entry))
    return { said: `${entry.name} has stopped` }
  },
} satisfies Readonly<Record<string, Way>>

/** Sees to it that a terminal can be used. In the daemon that may mean to start one that was stopped; in a pane its use does. */
async function started(nodes: ProjectNodes, entry: CatalogEntry): Promise<void> {
  await checkLives(nodes, entry)
  if (nodes.daemon !== undefined) await nodes.client.call('nodes.start', placeOf(entry))
}

/** Prints what the terminal prints, until somebody has seen enough or its program ends. Others may use it meanwhile. */
async function follow(out: Output, nodes: ProjectNodes, entry: CatalogEntry): Promise<Done> {
  await started(nodes, entry)
  const { client } = nodes
  const { name, session } = entry
  const { signal, release } = untilSignal()
  try {
    for await (const { type, data } of client.node(name, { session }).watch({ signal }) as AsyncIterable<Watched>) {
      if (type !== 'output' || typeof data !== 'string') continue
      if (out.json) out.data({ type, text: data })
      else out.write(clean(data))
    }
  } finally {
    release()
  }
  return { said: '' }
}

interface Watched {
  readonly type: string
  readonly data?: unknown
}

/** Only what lives on between two commands can be used by several: in a pane, or in the daemon. */
async function checkLives({ client, daemon }: ProjectNodes, entry: CatalogEntry): Promise<void> {
  const { name, kind, pane } = entry
  if (pane !== undefined) return
  if (daemon !== undefined) {
    const { info } = await client.call('nodes.get', placeOf(entry))
    if (info?.persistent !== false) return
  }
  throw new NerveError(
    'bad-option',
    kind === 'terminal'
      ? `Terminal '${name}' lives only in the process that started it (nerve node execute starts it, and ends it again). ` +
          `One that lives on: nerve server start, or nerve node create ${name}-2 --kind terminal --in tmux`
      : `'${name}' is a ${kind}, not a terminal in a pane: nothing of it lives on between two commands.`,
    { data: { node: name } },
  )
}

/** Whether there is something to interrupt: in a terminal something may run that nobody waits for. */
async function isAtWork(client: Client, entry: CatalogEntry): Promise<boolean> {
  const { info } = await client.call('nodes.get', placeOf(entry))
  return info?.state === 'busy' || (info?.state === 'ready' && info.abilities.includes('write'))
}

/** Runs that execute it now, in whatever process, are told to stop; gives them. */
async function interruptRuns(client: Client, { session, name }: CatalogEntry): Promise<readonly string[]> {
  const { sendingName } = await import('../../../host/node-api.ts')
  const found: string[] = []
  for (const row of await client.runs.list({ definition: sendingName(session), status: ['running'] })) {
    if (row.owner === undefined) continue
    const [first] = await client.call('runs.journal', { run: row.run, limit: 1 })
    const { input } = (first ?? {}) as { input?: { node?: unknown } }
    if (input?.node !== name) continue
    await client.run(row.run).interrupt()
    found.push(row.run)
  }
  return found
}
