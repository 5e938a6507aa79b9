/** `nerve session …`. */
import { NerveError } from '../../../base/nerve-error.ts'
import { nearest } from '../../../base/nearest.ts'
import type { CatalogEntry, SessionOverview } from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { oneLine } from '../printable.ts'
import { lookAtNodes, withNodes, type Looked } from '../project-nodes.ts'

export async function run(invocation: Invocation): Promise<number> {
  const session = await lookAtNodes(invocation, (looked) => look(invocation, looked))
  if (session !== undefined) await end(invocation, session)
  return EXIT.done
}

/** The session that is to be ended, where the command is one that ends it. */
async function look(invocation: Invocation, { catalog, sessions }: Looked): Promise<SessionOverview | undefined> {
  const all = await sessions()
  if (invocation.command === 'session list') {
    list(invocation, all)
    return undefined
  }
  const session = named(all, invocation.args.words[0] ?? '')
  if (invocation.command !== 'session show') return session
  show(
    invocation,
    session,
    catalog.filter((entry) => entry.session === session.name),
  )
  return undefined
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

function show({ out }: Invocation, session: SessionOverview, nodes: readonly CatalogEntry[]): void {
  out.data({ ...session, nodes })
  out.line(out.tone(session.name, 'bold'))
  for (const { name, kind, pane, lineage } of nodes) {
    const notes = [pane === undefined ? '' : `in ${pane}`, lineage === undefined ? '' : `copy of ${lineage.forkedFrom}`]
    out.line(`  ${name}  ${kind}  ${notes.join('  ')}`.trimEnd())
  }
}

async function end(invocation: Invocation, { name, planned }: SessionOverview): Promise<void> {
  const { command, out } = invocation
  const removes = command === 'session remove'
  if (removes && planned) throw new NerveError('bad-option', `'${name}' comes from nerve.config: take it out there.`)
  const { ended } = await withNodes(invocation, ({ client }) =>
    client.call(removes ? 'sessions.remove' : 'sessions.close', { session: name }),
  )
  out.data({ session: name, ended })
  const what = ended.length === 0 ? '' : `; ended: ${ended.join(', ')}`
  out.line(`${name} ${removes ? 'was removed' : 'is closed'}${what}`)
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
