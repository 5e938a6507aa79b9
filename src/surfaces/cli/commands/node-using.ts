/** `nerve node run`, `write`, `read`, `interrupt`, `reset` and `stop`. */
import { NerveError, isNerveError } from '../../../base/nerve-error.ts'
import type { Host } from '../../../host/api.ts'
import { nodeByItself, sendingName, type CatalogEntry, type ManagedNode } from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { keyNamed } from '../keys.ts'
import type { Output } from '../output.ts'
import { clean } from '../printable.ts'
import { me } from '../project.ts'
import { findNode, withNodes, type ProjectNodes } from '../project-nodes.ts'
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
    await (await attached(nodes, entry)).use('run', line)
    return { said: `typed into ${entry.name}` }
  },
  async write({ args }, nodes, entry) {
    const text = args.words[1]
    const keys = args.texts('key').map(keyNamed).join('')
    if (text === undefined && keys === '') throw new UsageError('nerve node write: what? Give TEXT or --key KEY.')
    const whole = `${text === undefined ? '' : await readText(text)}${keys}`
    await (await attached(nodes, entry)).use('write', whole)
    return { said: `typed into ${entry.name}` }
  },
  async read({ args, out }, nodes, entry) {
    const tail = args.text('tail')
    const ways = ['tail', 'screen', 'follow'].filter((way) => args.flag(way))
    if (ways.length > 1)
      throw new UsageError(`nerve node read: give one of ${ways.map((way) => `--${way}`).join(' and ')}.`)
    if (args.flag('follow')) return follow(out, nodes, entry)
    const lines = tail === undefined ? undefined : wholeNumber(tail, '--tail')
    const node = await attached(nodes, entry)
    if (args.flag('screen')) return screenOf(node)
    const text = String(lines === undefined ? await node.use('read') : terminalOf(node).readTail(lines))
    return { text, said: clean(text).replace(/\n$/, '') }
  },
  async interrupt(_invocation, nodes, entry) {
    const runs = await interruptRuns(nodes.host, entry)
    if (runs.length > 0) return { runs, said: `${entry.name} was interrupted in run ${runs.join(', ')}` }
    if (entry.pane === undefined) return { runs, said: `Nothing runs in ${entry.name}.` }
    const node = await attached(nodes, entry)
    await node.interrupt()
    return { runs, said: `${entry.name} was interrupted` }
  },
  async reset(_invocation, nodes, entry) {
    const node = await heldIn(nodes, entry)
    await node.reset()
    return { said: `${entry.name} has started again` }
  },
  async stop(_invocation, nodes, entry) {
    // By itself: it need not be taken hold of to be ended.
    const { node } = await heldIn(nodes, entry)
    await node.stop?.()
    return { said: `${entry.name} has stopped` }
  },
} satisfies Readonly<Record<string, Way>>

/** The terminal, taken hold of where it lives. While another process has its session open, it is used without the session. */
async function attached(nodes: ProjectNodes, entry: CatalogEntry): Promise<ManagedNode> {
  let node: ManagedNode
  try {
    node = await heldIn(nodes, entry)
  } catch (error) {
    if (!isNerveError(error, 'owned-elsewhere')) throw error
    node = await withoutSession(nodes, entry)
  }
  await node.start()
  return node
}

async function withoutSession(nodes: ProjectNodes, entry: CatalogEntry): Promise<ManagedNode> {
  const node = await nodeByItself(entry, nodes.config?.sessions ?? [])
  nodes.beforeEnd(() => node.detach())
  return node
}

/** Prints what the terminal prints, until somebody has seen enough or its program ends. Others may use it meanwhile. */
async function follow(out: Output, nodes: ProjectNodes, entry: CatalogEntry): Promise<Done> {
  checkPane(entry)
  const node = await withoutSession(nodes, entry)
  await node.start()
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve)
    terminalOf(node).watch(({ type, text, state }) => {
      if (type === 'state' && state === 'stopped') resolve()
      if (type !== 'output' || text === undefined) return
      if (out.json) out.data({ type, text })
      else out.write(clean(text))
    })
  })
  return { said: '' }
}

/** The terminal in its session. */
async function heldIn({ open }: ProjectNodes, entry: CatalogEntry): Promise<ManagedNode> {
  checkPane(entry)
  return (await open(entry.session)).node(entry.name)
}

function checkPane({ name, kind, pane }: CatalogEntry): void {
  if (pane === undefined)
    throw new NerveError(
      'bad-option',
      kind === 'terminal'
        ? `Terminal '${name}' lives only in the process that started it (nerve node execute starts it, and ends it again). ` +
            `One that lives on: nerve node create ${name}-2 --kind terminal --in tmux`
        : `'${name}' is a ${kind}, not a terminal in a pane: nothing of it lives on between two commands.`,
      { data: { node: name } },
    )
}

interface Terminal {
  readTail(lines: number): string
  screen(): Promise<{ readonly rows: readonly string[] }>
  watch(
    listener: (part: { readonly type: string; readonly text?: string; readonly state?: string }) => void,
  ): () => void
}

function terminalOf(node: ManagedNode): Terminal {
  return node.node as unknown as Terminal
}

async function screenOf(node: ManagedNode): Promise<Done> {
  const screen = await terminalOf(node).screen()
  return { screen, said: clean(screen.rows.join('\n')).trimEnd() }
}

/** Other processes that execute it now are told to stop; gives their runs. */
async function interruptRuns(host: Host, { session, name }: CatalogEntry): Promise<readonly string[]> {
  const found: string[] = []
  for (const row of await host.runs({ definition: sendingName(session), status: ['running'] })) {
    if (row.owner === undefined) continue
    const [first] = await host.journal(row.run)
    const { input } = (first?.event ?? {}) as { input?: { node?: unknown } }
    if (input?.node !== name) continue
    await (await host.handle(row.run)).interrupt(me())
    found.push(row.run)
  }
  return found
}
