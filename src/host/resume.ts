import { NerveError } from '../base/nerve-error.ts'
import type { Engine } from '../engine/engine.ts'
import type { AnyDefinition } from '../engine/definition.ts'
import type { Actor, Entry, ResumePlan } from '../journal/events.ts'
import { callKind, isOutcome } from '../journal/outcomes.ts'

export interface Acceptance {
  readonly plan: ResumePlan
  readonly from: string | undefined
  readonly actor: Actor
}

/** Writes down that a person accepted the plan, and what no longer counts. */
export async function acceptPlan(engine: Engine, root: string, acceptance: Acceptance): Promise<void> {
  const { plan, from, actor } = acceptance
  if (engine.live(root) !== undefined)
    throw new NerveError('owned-elsewhere', `Run ${root} is running here; pause or cancel it first.`)
  const { entries } = await engine.stored(root)
  const forget = new Set([...plan.rerun, ...(from === undefined ? [] : pathsFrom(entries, root, from))])
  const ignore = plan.unknown.filter((path) => !forget.has(path))
  const tree = await engine.open(root, NOT_DRIVEN)
  try {
    await tree.rootExecution?.commit({ type: 'plan-accepted', forget: [...forget], ignore, ...actor })
  } finally {
    await engine.letGo(tree)
  }
}

/** The path and everything whose outcome was recorded after it. */
function pathsFrom(entries: readonly Entry[], run: string, path: string): string[] {
  const first = entries.find(({ event }) => 'path' in event && event.path === path && callKind(event) !== undefined)
  if (first === undefined) throw new NerveError('not-found', `Run ${run} has nothing at the path '${path}'.`)
  const paths = new Set([path])
  for (const { event, seq } of entries) {
    if (
      seq >= first.seq &&
      'path' in event &&
      event.path !== undefined &&
      (isOutcome(event) || callKind(event) !== undefined)
    )
      paths.add(event.path)
  }
  return [...paths]
}

const NOT_DRIVEN: AnyDefinition = { kind: 'workflow', name: 'stored run', options: {}, run: () => undefined }
