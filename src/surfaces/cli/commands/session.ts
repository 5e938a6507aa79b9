/** `nerve session …`. */
import { NerveError } from '../../../base/nerve-error.ts'
import { nearest } from '../../../base/nearest.ts'
import { sessionSummaries, type CatalogEntry, type SessionOverview } from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { oneLine } from '../printable.ts'
import { projectConfig } from '../project.ts'
import { readCatalog, withNodes, type ProjectNodes } from '../project-nodes.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { args, out, dir } = invocation
  const config = await projectConfig(dir, out)
  const all = await sessionSummaries(dir, config?.sessions ?? [])
  if (invocation.command === 'session list') list(invocation, all)
  else {
    const session = named(all, args.words[0] ?? '')
    if (invocation.command === 'session show') await show(invocation, session)
    else await withNodes(invocation, (nodes) => end(invocation, nodes, session))
  }
  return EXIT.done
}

function list({ out, dir }: Invocation, all: readonly SessionOverview[]): void {
  out.data(all)
  if (all.length === 0)
    return out.line(`There are no sessions in ${dir}. Nodes make one: nerve node create NAME --kind bash`)
  const names = Math.max(4, ...all.map(({ name }) => name.length))
  out.line(out.tone(`${'NAME'.padEnd(names)}  NODES`, 'dim'))
  for (const { name, members, planned, tags } of all) {
    const notes = [...tags, ...(planned ? ['nerve.config'] : [])].join(', ')
    out.line(`${name.padEnd(names)}  ${String(members).padEnd(5)}  ${oneLine(notes)}`.trimEnd())
  }
}

async function show(invocation: Invocation, session: SessionOverview): Promise<void> {
  const { out } = invocation
  const nodes = (await readCatalog(invocation)).filter((entry) => entry.session === session.name)
  out.data({ ...session, nodes })
  out.line(out.tone(session.name, 'bold'))
  for (const { name, kind, pane, lineage } of nodes) {
    const notes = [pane === undefined ? '' : `in ${pane}`, lineage === undefined ? '' : `copy of ${lineage.forkedFrom}`]
    out.line(`  ${name}  ${kind}  ${notes.join('  ')}`.trimEnd())
  }
}

/** What lives on without a process is taken hold of, and ended. */
async function end(invocation: Invocation, nodes: ProjectNodes, session: SessionOverview): Promise<void> {
  const { command, out } = invocation
  const removes = command === 'session remove'
  if (removes && session.planned)
    throw new NerveError('bad-option', `'${session.name}' comes from nerve.config: take it out there.`)
  const living = nodes.catalog.filter((entry) => entry.session === session.name && entry.pane !== undefined)
  // One that cannot be opened any more can be removed all the same.
  const ended = removes && living.length === 0 ? [] : await endPanes(nodes, session.name, living)
  if (removes) await nodes.sessions.remove(session.name)
  out.data({ session: session.name, ended })
  const what = ended.length === 0 ? '' : `; ended: ${ended.join(', ')}`
  out.line(`${session.name} ${removes ? 'was removed' : 'is closed'}${what}`)
}

async function endPanes(
  { open }: ProjectNodes,
  name: string,
  living: readonly CatalogEntry[],
): Promise<readonly string[]> {
  const session = await open(name)
  for (const entry of living) {
    // By itself: it need not be taken hold of to be ended.
    await session.node(entry.name).node.stop?.()
  }
  return living.map((entry) => entry.name)
}

function named(all: readonly SessionOverview[], name: string): SessionOverview {
  const found = all.find((one) => one.name === name)
  if (found !== undefined) return found
  const near = nearest(
    name,
    all.map((one) => one.name),
  )
  const hint = near === undefined ? 'See: nerve session list' : `Did you mean '${near}'?`
  throw new NerveError('not-found', `There is no session '${name}'. ${hint}`, { data: { session: name } })
}
