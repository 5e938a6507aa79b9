/** `nerve node execute`: a run of its own, shown as it goes. */
import { isNerveError } from '../../../base/nerve-error.ts'
import type { CatalogEntry } from '../../../host/node-api.ts'
import type { Client } from '../../client/client.ts'
import type { Invocation } from '../dispatch.ts'
import { endProcess } from '../end-process.ts'
import { EXIT } from '../exit-code.ts'
import { NodeOutput } from '../node-output.ts'
import { questionText } from '../outcome.ts'
import type { Output } from '../output.ts'
import { readable } from '../printable.ts'
import { findNode, placeOf, withNodes, type ProjectNodes } from '../project-nodes.ts'
import { readInput, readText } from '../values.ts'

export function run(invocation: Invocation): Promise<number> {
  return withNodes(invocation, async (nodes) => {
    const { args, out } = invocation
    const entry = findNode(nodes.catalog, invocation)
    const place = placeOf(entry)
    const { info } = await nodes.client.call('nodes.get', place)
    // Shells and terminals take text, whatever it looks like, and what they print is their result.
    const textual = entry.kind === 'bash' || info?.abilities.includes('write') === true
    const [, text] = args.words
    const input = text === undefined ? undefined : await (textual ? readText(text) : readInput(text))
    if (nodes.daemon !== undefined) await prepare(nodes, entry, info?.state)
    const begun = Promise.withResolvers<string>()
    const giveBack = interruptOnSignal(nodes, entry, begun.promise)
    try {
      const shown = new NodeOutput(out, entry.type === 'node')
      const id = await follow(nodes, { entry, input, out, shown, begun: begun.resolve })
      const output = await nodes.client.run(id).result()
      out.data({ run: id, ...place, output: output ?? null })
      shown.end(id, output)
      if (!shown.streamed && output !== undefined && !textual) out.line(readable(output))
      return EXIT.done
    } finally {
      giveBack()
    }
  })
}

/** A person who executes a node that was stopped wants it to start; and what it starts has the variables of the daemon. */
async function prepare({ client, daemon }: ProjectNodes, entry: CatalogEntry, state?: string): Promise<void> {
  const { tellOfEnvironment } = await import('../project-daemon.ts')
  if (daemon !== undefined) tellOfEnvironment(daemon)
  if (state === 'stopped' || state === 'error') await client.call('nodes.start', placeOf(entry))
}

interface Following {
  readonly entry: CatalogEntry
  readonly input: unknown
  readonly out: Output
  readonly shown: NodeOutput
  readonly begun: (run: string) => void
}

/** Shows all that happens in the run until it ends; gives its id. A daemon that dies meanwhile is started again, and goes on. */
async function follow(
  { client, daemon }: ProjectNodes,
  { entry, input, out, shown, begun }: Following,
): Promise<string> {
  const told = new Set<string>()
  const failed = new AbortController()
  let id = ''
  const onLost = (): void => {
    // Asking for the run brings it back.
    daemon?.run(id).catch((error: unknown) => failed.abort(error))
  }
  const { name, session } = entry
  for await (const item of client.node(name, { session }).stream(input, { signal: failed.signal, onLost })) {
    id ||= item.run
    begun(id)
    if ('live' in item) shown.hear(item)
    else if (item.type === 'question-asked') await tellQuestions(client, out, id, told)
  }
  failed.signal.throwIfAborted()
  return id
}

/** Says which questions are open, and how to answer them from elsewhere. */
async function tellQuestions(client: Client, out: Output, run: string, told: Set<string>): Promise<void> {
  for (const question of await client.questions.list()) {
    if (question.run !== run || told.has(question.id)) continue
    told.add(question.id)
    process.stderr.write(`${questionText(out, question, Date.now()).join('\n')}\n`)
  }
}

/**
 * Ctrl-C is for the node: what it makes of it is the result. Before the node is at work, and for what is no node, the run is
 * cancelled. A second one ends this process. In the daemon a run does not need this process, so only Ctrl-C is meant for it.
 */
function interruptOnSignal(nodes: ProjectNodes, entry: CatalogEntry, begun: Promise<string>): () => void {
  const signals = nodes.daemon === undefined ? (['SIGINT', 'SIGTERM', 'SIGHUP'] as const) : (['SIGINT'] as const)
  let heard = false
  let isOver = false
  const stop = (): void => {
    if (heard) endProcess(EXIT.cancelled)
    heard = true
    interrupt(nodes.client, entry, begun).catch((error: unknown) => {
      // The result came first, and is being told.
      if (!isOver && !isNerveError(error, 'run-ended')) endProcess(EXIT.cancelled)
    })
  }
  for (const signal of signals) process.on(signal, stop)
  return () => {
    isOver = true
    for (const signal of signals) process.off(signal, stop)
  }
}

async function interrupt(client: Client, entry: CatalogEntry, begun: Promise<string>): Promise<void> {
  const run = client.run(await begun)
  const { info } = await client.call('nodes.get', placeOf(entry))
  const { runs = [], persistent = false } = info ?? {}
  if (!runs.includes(run.id)) return run.cancel()
  // What it does for others is theirs.
  const isMine = runs.length === 1 || (persistent && runs[0] === run.id)
  if (isMine) await client.call('nodes.interrupt', placeOf(entry))
  else await run.interrupt()
}
