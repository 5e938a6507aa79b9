/** `nerve node list`, `show`, `history` and `forks`. They open no session, and start nothing. */
import { milliseconds } from '../../../base/duration.ts'
import type { CatalogEntry, ForkTree, HistoryEntry, HistoryOperation } from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import type { Output } from '../output.ts'
import { brief, oneLine, toJson } from '../printable.ts'
import { findNode, lookAtNodes, type Looked } from '../project-nodes.ts'
import { wholeNumber } from '../values.ts'

export async function run(invocation: Invocation): Promise<number> {
  await lookAtNodes(invocation, (looked) => look(invocation, looked))
  return EXIT.done
}

async function look(invocation: Invocation, looked: Looked): Promise<void> {
  const { catalog } = looked
  switch (invocation.command) {
    case 'node show':
      show(invocation.out, findNode(catalog, invocation))
      break
    case 'node history':
      await history(invocation, looked, findNode(catalog, invocation))
      break
    case 'node forks':
      await forks(invocation, catalog)
      break
    default:
      list(invocation, catalog)
  }
}

function list({ args, out, dir }: Invocation, catalog: readonly CatalogEntry[]): void {
  out.data(catalog)
  const session = args.text('session')
  if (catalog.length === 0)
    return out.line(
      session === undefined
        ? `There are no nodes in ${dir}. Make one: nerve node create NAME --kind bash`
        : `There are no nodes in session '${session}'. See: nerve session list`,
    )
  const names = Math.max(4, ...catalog.map(({ name }) => name.length))
  const kinds = Math.max(4, ...catalog.map(({ kind }) => kind.length))
  const sessions = Math.max(7, ...catalog.map(({ session }) => session.length))
  out.line(out.tone(`${'NAME'.padEnd(names)}  ${'KIND'.padEnd(kinds)}  ${'SESSION'.padEnd(sessions)}`, 'dim'))
  for (const entry of catalog)
    out.line(
      `${entry.name.padEnd(names)}  ${entry.kind.padEnd(kinds)}  ${entry.session.padEnd(sessions)}  ${oneLine(notes(entry))}`.trimEnd(),
    )
}

function notes({ planned, pane, lineage, within, config }: CatalogEntry): string {
  const command = config?.['command'] ?? config?.['url']
  return [
    typeof command === 'string' ? brief(command, 50) : '',
    pane === undefined ? '' : `in ${pane}`,
    lineage === undefined ? '' : `copy of ${lineage.forkedFrom}`,
    within === undefined ? '' : `inside ${within}`,
    planned ? 'nerve.config' : '',
  ]
    .filter((note) => note !== '')
    .join('  ')
}

function show(out: Output, entry: CatalogEntry): void {
  out.data(entry)
  const { name, kind, session, tags, lineage, within, after, omitted, planned, pane } = entry
  out.line(out.tone(name, 'bold'))
  const { id: _id, kind: _kind, ...config } = entry.config ?? { id: '', kind }
  const rows: readonly (readonly [string, string])[] = [
    ['kind', kind],
    ['session', `${session}${tags.length === 0 ? '' : ` (${tags.join(', ')})`}`],
    ['from', planned ? 'nerve.config' : 'recorded'],
    ['persistent', entry.persistent === true ? 'yes' : 'no'],
    ['lives in', pane ?? ''],
    ['copy of', lineage === undefined ? '' : `${lineage.forkedFrom} (${new Date(lineage.forkedAt).toISOString()})`],
    ['inside', within ?? ''],
    ['after', after?.join(', ') ?? ''],
    ['left out', omitted?.join(', ') ?? ''],
    ...Object.entries(config).map(
      ([field, value]) => [field, typeof value === 'string' ? value : (toJson(value) ?? '')] as const,
    ),
  ]
  for (const [label, text] of rows) if (text !== '') out.line(`  ${oneLine(label).padEnd(12)}${text}`)
}

async function history({ args, out }: Invocation, looked: Looked, entry: CatalogEntry): Promise<void> {
  const last = args.text('last')
  const since = args.text('since')
  const { entries, unreadable } = await looked.history(entry, {
    ...(last === undefined ? {} : { last: wholeNumber(last, '--last') }),
    ...(since === undefined ? {} : { since: timeOf(since) }),
    ...(args.flag('operation') ? { operation: args.texts('operation') as readonly HistoryOperation[] } : {}),
    ...(args.flag('inputs') ? { inputsOnly: true } : {}),
  })
  for (const one of entries) {
    out.data(one)
    out.line(historyLine(out, one))
  }
  if (entries.length === 0) out.line(`'${entry.name}' has no history here.`)
  if (unreadable > 0) out.line(out.tone(`${unreadable} lines could not be read: a crash left them unfinished.`, 'warn'))
}

function timeOf(text: string): number {
  if (/^[\d.]+\s*(ms|s|m|h|d|w)$/.test(text)) return Date.now() - milliseconds(text, '--since')
  const time = /^\d{10,}$/.test(text) ? Number(text) : Date.parse(text)
  if (Number.isFinite(time)) return time
  throw new UsageError(`--since is '${text}'; give how long ago (10m, 2h, 1d), or a date such as 2026-01-31.`)
}

function historyLine(out: Output, entry: HistoryEntry): string {
  const { seq, time, operation, input, of, output, error, buffer, ms } = entry
  const value = of === undefined ? input : (buffer ?? output)
  const text = value === undefined ? '' : brief(value, 100)
  const what = error === undefined ? text : out.tone(brief(error.message, 100), 'bad')
  const mark = of === undefined ? '>' : '<'
  const took = ms === undefined ? '' : `  ${ms} ms`
  return `${String(seq).padStart(5)}  ${new Date(time).toISOString()}  ${operation.padEnd(9)}  ${mark} ${what}${took}`
}

async function forks({ args, out }: Invocation, catalog: readonly CatalogEntry[]): Promise<void> {
  const { forkTrees } = await import('../../../host/node-api.ts')
  const [wanted] = args.words
  const all = Map.groupBy(catalog, ({ session }) => session)
  const trees = [...all].flatMap(([session, members]) => forkTrees(members).map((tree) => ({ session, ...tree })))
  const shown = trees.filter((tree) => (wanted === undefined ? tree.forks.length > 0 : has(tree, wanted)))
  if (wanted !== undefined && shown.length === 0) findNode(catalog, { args } as Invocation)
  out.data(shown)
  if (shown.length === 0) out.line('Nothing was copied. Copy something: nerve node fork NAME')
  for (const tree of shown) for (const line of treeLines(tree, '')) out.line(line)
}

function has(tree: ForkTree, name: string): boolean {
  return tree.name === name || tree.forks.some((fork) => has(fork, name))
}

function treeLines(tree: ForkTree, indent: string): string[] {
  const when = tree.forkedAt === undefined ? '' : `  ${new Date(tree.forkedAt).toISOString()}`
  return [`${indent}${tree.name}  ${tree.kind}${when}`, ...tree.forks.flatMap((fork) => treeLines(fork, `${indent}  `))]
}
