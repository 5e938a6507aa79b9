/** What the contract says about sessions. */
import { NerveError } from '../../base/nerve-error.ts'
import { given, type Calls } from './calls.ts'
import type { CallName, Output } from './contract.ts'
import { endNode } from './end-node.ts'
import type { NodeCallOptions, Places } from './places.ts'

type Names = Extract<CallName, `sessions.${string}`>

export function sessionCalls(options: NodeCallOptions, places: Places): Calls<Names> {
  const { sessions, plans } = options
  const isPlanned = (session: string): boolean => plans.some(({ name }) => name === session)
  return {
    'sessions.list': () => listed(options),
    'sessions.get': async ({ session: name }) => {
      const open = sessions.get(name)
      const members = open?.list() ?? (await places.catalog()).filter(({ session }) => session === name)
      const record = await recordOf(options, name)
      return { ...record, open: open !== undefined, members: members.map((member) => ({ ...member })) }
    },
    'sessions.create': async ({ session, tags }) => ({
      session: (await sessions.create({ name: session, ...given({ tags }) })).name,
    }),
    'sessions.close': async ({ session }) => {
      const ended = await endLiving(options, places, session)
      // One that is planned and was never opened is closed, though nothing is recorded of it.
      const never = isPlanned(session) && !(await sessions.list()).some(({ name }) => name === session)
      const { stopped, problems } = never ? { stopped: [], problems: [] } : await sessions.close(session)
      const told = problems.map(({ node, error }) => ({ node, error: String(error) }))
      return { stopped: [...stopped], ended, problems: told }
    },
    'sessions.remove': async ({ session }) => {
      if (isPlanned(session))
        throw new NerveError('bad-option', `'${session}' comes from nerve.config: take it out there.`)
      const ended = await endLiving(options, places, session)
      await sessions.remove(session)
      return { ok: true, ended }
    },
  }
}

/** Those that are recorded or open, and those that are only planned. */
async function listed({ sessions, plans }: NodeCallOptions): Promise<Output<'sessions.list'>> {
  const planned = new Map(plans.map((plan) => [plan.name, plan]))
  const known = await sessions.list()
  const never = plans.filter(({ name }) => !known.some((one) => one.name === name))
  return [
    ...known.map((one) => ({
      ...one,
      tags: [...(planned.get(one.name)?.tags ?? one.tags)],
      planned: planned.has(one.name),
    })),
    ...never.map(({ name, tags = [], nodes = [] }) => ({
      ...{ name, tags: [...tags], open: false, members: nodes.length, planned: true },
    })),
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** What is recorded of a session; what is planned, where nothing is. */
async function recordOf(
  { sessions, plans }: NodeCallOptions,
  name: string,
): Promise<{ readonly name: string; readonly tags: string[] }> {
  const plan = plans.find((one) => one.name === name)
  const isKnown = (await sessions.list()).some((one) => one.name === name)
  if (plan !== undefined && !isKnown) return { name, tags: [...(plan.tags ?? [])] }
  const { members: _members, ...record } = await sessions.record(name)
  return { ...record, tags: [...record.tags] }
}

/** Ends what lives in panes, and says what lived until now, there or in this process. One without panes is not opened for it. */
async function endLiving({ sessions }: NodeCallOptions, places: Places, session: string): Promise<string[]> {
  const up = (sessions.get(session)?.list() ?? []).filter(
    ({ persistent, state }) => persistent === true && (state === 'ready' || state === 'busy'),
  )
  const ended = new Set(up.map(({ name }) => name))
  for (const entry of await places.catalog()) {
    if (entry.session !== session || entry.pane === undefined) continue
    await endNode((await places.open(session)).node(entry.name), entry)
    ended.add(entry.name)
  }
  return [...ended]
}
