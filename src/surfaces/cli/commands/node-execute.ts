/** `nerve node execute`: a run of its own, shown as it goes. */
import { isNerveError } from '../../../base/nerve-error.ts'
import type { Handle, Host } from '../../../host/api.ts'
import {
  nodeByItself,
  sendingDefinition,
  startSend,
  type CatalogEntry,
  type ManagedNode,
  type Sent,
  type Session,
} from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { questionText } from '../outcome.ts'
import type { Output } from '../output.ts'
import { clean, readable } from '../printable.ts'
import { me } from '../project.ts'
import { findNode, withNodes, type ProjectNodes } from '../project-nodes.ts'
import { readInput, readText } from '../values.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export function run(invocation: Invocation): Promise<number> {
  return withNodes(invocation, async (nodes) => {
    const { args, out } = invocation
    const entry = findNode(nodes.catalog, invocation)
    const { found, start } = await targetOf(nodes, entry)
    const [, text] = args.words
    const input = text === undefined ? undefined : await (isTextual(found) ? readText(text) : readInput(text))
    const shown = new Shown(nodes.host, out, isNode(found))
    const begun = Promise.withResolvers<Handle>()
    const giveBack = interruptOnSignal(found, begun.promise)
    try {
      const { session, name: node } = entry
      const handle = await start({ node, ...(input === undefined ? {} : { input }) })
      begun.resolve(handle)
      shown.follow(handle)
      const output = await handle.result()
      out.data({ run: handle.id, session, node, output: output ?? null })
      if (!shown.streamed && output !== undefined && !isTextual(found)) out.line(readable(output))
      return EXIT.done
    } finally {
      giveBack()
      shown.end()
    }
  })
}

type Found = ReturnType<Session['get']>

interface Target {
  readonly found: Found
  readonly start: (sent: Sent) => Promise<Handle>
}

/** The node in its session; one that keeps nothing also by itself, when another process has the session open. */
async function targetOf({ host, config, open }: ProjectNodes, entry: CatalogEntry): Promise<Target> {
  try {
    const session = await open(entry.session)
    return { found: session.get(entry.name), start: (sent) => startSend(host, session.name, sent) }
  } catch (error) {
    if (!isNerveError(error, 'owned-elsewhere') || entry.type !== 'node' || entry.persistent === true) throw error
    const node = await nodeByItself(entry, config?.sessions ?? [])
    const definition = sendingDefinition(entry.session, () => node)
    return { found: node, start: (sent) => host.start(definition, sent) }
  }
}

function isNode(found: Found): found is ManagedNode {
  return found !== undefined && 'execute' in found
}

/** Shells and terminals take text, whatever it looks like, and what they print is their result. */
function isTextual(found: Found): boolean {
  return isNode(found) && (found.kind === 'bash' || found.info().abilities.includes('write'))
}

/**
 * Ctrl-C is for the node: what it makes of it is the result. Before the node is at work, the run is cancelled. A second one
 * ends this process.
 */
function interruptOnSignal(found: Found, begun: Promise<Handle>): () => void {
  let heard = false
  const stop = (): void => {
    if (heard || !isNode(found)) process.exit(EXIT.cancelled)
    heard = true
    const stopped = found.state === 'busy' ? found.interrupt() : begun.then((handle) => handle.cancel(me()))
    stopped.catch((error: unknown) => {
      // The result came first.
      if (!isNerveError(error, 'run-ended')) process.exit(EXIT.cancelled)
    })
  }
  for (const signal of SIGNALS) process.on(signal, stop)
  return () => {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
}

/** What the command of a node prints goes where it would go without Nerve, as it comes; with --json it is in the result alone. */
class Shown {
  /** True when the result has been shown already. */
  streamed = false
  readonly #host: Host
  readonly #out: Output
  readonly #unsubscribe: (() => void)[] = []

  constructor(host: Host, out: Output, streams: boolean) {
    this.#host = host
    this.#out = out
    if (streams && !out.json) this.#unsubscribe.push(host.subscribe({ live: true }, (part) => this.#part(part)))
  }

  /** Says which questions are open, and how to answer them from elsewhere. */
  follow({ id }: Handle): void {
    const told = new Set<string>()
    const look = async (): Promise<void> => {
      for (const question of await this.#host.inbox()) {
        if (question.run !== id || told.has(question.id)) continue
        told.add(question.id)
        process.stderr.write(`${questionText(this.#out, question, Date.now()).join('\n')}\n`)
      }
    }
    this.#unsubscribe.push(
      this.#host.subscribe({ run: id, type: 'question-asked', live: false }, () => {
        look().catch((error: unknown) => this.#out.error(error))
      }),
    )
  }

  end(): void {
    for (const stop of this.#unsubscribe) stop()
  }

  #part(part: { readonly type: string; readonly run: string }): void {
    const { data } = part as { data?: unknown }
    if (part.run === '' || typeof data !== 'string') return
    if (part.type === 'stderr') process.stderr.write(process.stderr.isTTY ? clean(data) : data)
    else if (part.type === 'stdout' || part.type === 'output')
      this.#out.write(process.stdout.isTTY ? clean(data) : data)
    else return
    this.streamed = true
  }
}
