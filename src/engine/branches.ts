/** all, map and race: each branch is a scope of its own, so labels and results of branches never mix. */
import { checkKnown } from '../base/check-known.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { ScopeKind } from '../journal/events.ts'
import type { MapOptions, RaceOptions, ScopeOptions } from './definition.ts'
import { endGroup } from './delivery.ts'
import type { Execution } from './execution.ts'
import { whenFree } from './held-back.ts'
import { errorPolicyIn, here, isLabel, openScope, type Place } from './scope.ts'
import { handled } from './step.ts'
import { after } from './waits.ts'

type Branch<Output> = () => Promise<Output> | Output

export async function all<Output>(
  execution: Execution,
  branches: readonly Branch<Output>[],
  options: ScopeOptions,
): Promise<Output[]> {
  checkBranches('all', branches)
  checkKnown('ctx.all', options, ['label'])
  const place = execution.enter(options.label ?? 'all')
  announce(execution, place, 'all', branches.length)
  const scopes = branches.map((_, index) => branchPlace(execution, place, index))
  return together(execution, place, {
    scopes,
    runs: branches.map((branch, index) => startBranch(scopes[index] as Place, branch)),
  })
}

export async function map<Item, Output>(
  execution: Execution,
  items: readonly Item[],
  run: (item: Item, index: number) => Promise<Output> | Output,
  options: MapOptions<Item>,
): Promise<Output[]> {
  checkKnown('ctx.map', options, ['concurrency', 'key', 'label'])
  const keys = itemKeys(items, options)
  const most = options.concurrency ?? Infinity
  if (!(most >= 1)) throw new NerveError('bad-option', `map: concurrency is ${most}; give a number from 1.`)
  const place = execution.enter(options.label ?? 'map')
  announce(execution, place, 'map', items.length)
  const scopes = keys.map((key) => branchPlace(execution, place, key))
  const one = (index: number): Promise<Output> =>
    item(execution, scopes[index] as Place, `${place.path}/${keys[index]}`, () => run(items[index] as Item, index))
  return together(execution, place, { scopes, runs: limited(items.length, most, one) })
}

export async function race<Output>(
  execution: Execution,
  branches: readonly Branch<Output>[],
  options: RaceOptions,
): Promise<Output> {
  checkBranches('race', branches)
  checkKnown('ctx.race', options, ['until', 'label'])
  if (branches.length === 0) throw new NerveError('bad-option', 'race needs at least one branch.')
  const place = execution.enter(options.label ?? 'race')
  const recorded = execution.take(place.path, 'scope')
  if (recorded?.type === 'race-decided') {
    execution.seal(place.path)
    const won = handled(
      startBranch(branchPlace(execution, place, recorded.winner), branches[recorded.winner] as Branch<Output>),
    )
    await won.catch(() => undefined)
    await execution.turn(place)
    return won
  }
  if (recorded === undefined)
    execution.append({ type: 'scope-opened', path: place.path, kind: 'race', size: branches.length, ...after(place) })
  const scopes = branches.map((_, index) => racePlace(execution, place, index))
  const runs = branches.map((branch, index) => handled(startBranch(scopes[index] as Place, branch)))
  const winner = await (options.until === 'success' ? firstSuccess(runs) : firstSettled(runs))
  stopOthers(execution, scopes, winner)
  ;(scopes[winner] as Place).scope.raced = false
  // Before the commit, which in a replay waits until everything recorded is reached or sealed.
  execution.seal(place.path)
  if (execution.root.scope.stopped === undefined)
    await execution.commit({ type: 'race-decided', path: place.path, winner, ...after(place) }, place)
  return runs[winner] as Promise<Output>
}

function firstSettled(runs: readonly Promise<unknown>[]): Promise<number> {
  return Promise.race(
    runs.map((result, index) =>
      result.then(
        () => index,
        () => index,
      ),
    ),
  )
}

/** When none succeeds, the last one to fail has decided it. */
function firstSuccess(runs: readonly Promise<unknown>[]): Promise<number> {
  let open = runs.length
  return new Promise((resolve) => {
    for (const [index, result] of runs.entries()) {
      result.then(
        () => resolve(index),
        () => {
          open -= 1
          if (open === 0) resolve(index)
        },
      )
    }
  })
}

/** A scope of its own for a part of the run. When it throws, what still runs in it is stopped. */
export async function scope<Output>(execution: Execution, label: string, run: Branch<Output>): Promise<Output> {
  return within(execution, execution.enter(label), run)
}

/** The same, for a definition that runs as a part of another: the journal says what it is. */
export async function nodeScope<Output>(
  execution: Execution,
  { label, node }: { readonly label: string; readonly node: string },
  run: Branch<Output>,
): Promise<Output> {
  const place = execution.enter(label)
  if (execution.take(place.path, 'scope') === undefined)
    execution.append({ type: 'scope-opened', path: place.path, kind: 'node', node, size: 1, ...after(place) })
  return within(execution, place, run)
}

async function within<Output>(execution: Execution, place: Place, run: Branch<Output>): Promise<Output> {
  const { drains } = place.scope
  const inside = openScope(`${place.path}/`, { owner: execution, drains, parent: place.scope })
  try {
    const output = await startBranch(inside, run)
    endGroup(place)
    return output
  } catch (error) {
    endGroup(place)
    stopOthers(execution, [inside], -1)
    execution.seal(place.path)
    throw error
  }
}

interface Started<Output> {
  readonly scopes: readonly Place[]
  readonly runs: readonly Promise<Output>[]
}

/** Waits for every branch. With the policy `stop` the first failure stops the others at once. */
async function together<Output>(execution: Execution, place: Place, started: Started<Output>): Promise<Output[]> {
  const { scopes, runs } = started
  const policy = errorPolicyIn(place.scope) ?? execution.state.errorPolicy
  if (policy === 'stop') {
    try {
      const results = await Promise.all(runs)
      endGroup(place)
      return results
    } catch (error) {
      endGroup(place)
      stopOthers(execution, scopes, -1)
      execution.seal(place.path)
      throw error
    }
  }
  const results = await Promise.allSettled(runs)
  endGroup(place)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed === undefined || policy === 'continue') {
    return results.map((result) => (result.status === 'fulfilled' ? result.value : (undefined as Output)))
  }
  throw failed.reason
}

/**
 * One item of a map: its result is an outcome of its own, so a finished item never runs again. One that keeps state in
 * memory has none: a replay runs it over its recorded steps, which builds that state.
 */
async function item<Output>(execution: Execution, scope: Place, path: string, run: Branch<Output>): Promise<Output> {
  const recorded = execution.take(path, 'step', false)
  if (recorded?.type === 'step-completed') {
    execution.seal(path)
    // In its turn, like every result: else what goes on from the map would go on too early.
    await execution.turn(scope, path)
    return recorded.output as Output
  }
  let started = execution.clock.now()
  const begin = (): Promise<Output> => {
    started = execution.clock.now()
    return startBranch(scope, run)
  }
  // A replay goes into it: what it began with is recorded.
  const output = await (execution.replaying ? begin() : whenFree(execution, scope.scope, begin))
  if (scope.scope.keeps) return output
  // An item that failed or was stopped has no outcome; one that a replay gets to the end of should have.
  execution.take(path, 'step')
  await execution.commit({ type: 'step-completed', path, kind: 'item', attempt: 1, started, output })
  return output
}

function stopOthers(execution: Execution, scopes: readonly Place[], winner: number): void {
  const error = new NerveError('skipped', 'This branch was stopped because another one ended the group.')
  for (const [index, place] of scopes.entries())
    if (index !== winner) execution.tree.stopScope(execution, place.scope, error)
}

function startBranch<Output>(place: Place, branch: Branch<Output>): Promise<Output> {
  return new Promise<Output>((resolve) => resolve(here.run(place, branch)))
}

function branchPlace(execution: Execution, place: Place, name: string | number): Place {
  const { drains } = place.scope
  return openScope(`${place.path}/${name}/`, { owner: execution, drains, parent: place.scope })
}

function racePlace(execution: Execution, place: Place, index: number): Place {
  const made = branchPlace(execution, place, index)
  made.scope.raced = true
  return made
}

function announce(execution: Execution, place: Place, kind: ScopeKind, size: number): void {
  if (execution.take(place.path, 'scope') === undefined)
    execution.append({ type: 'scope-opened', path: place.path, kind, size, ...after(place) })
}

function limited<Output>(count: number, most: number, one: (index: number) => Promise<Output>): Promise<Output>[] {
  if (count <= most) return Array.from({ length: count }, (_, index) => one(index))
  const waiting: (() => void)[] = []
  let running = 0
  const turn = async (index: number): Promise<Output> => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    running += 1
    try {
      return await one(index)
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }
  return Array.from({ length: count }, (_, index) => {
    return handled(turn(index))
  })
}

function itemKeys<Item>(items: readonly Item[], options: MapOptions<Item>): string[] {
  if (!isList(items)) throw new NerveError('bad-option', 'map needs an array of items.')
  const { key } = options
  if (key === undefined) return items.map((_, index) => String(index))
  const keys = items.map((one, index) => String(key(one, index)).replaceAll('/', '∕'))
  const seen = new Set<string>()
  for (const [index, name] of keys.entries()) {
    if (!isLabel(name))
      throw new NerveError(
        'bad-option',
        `map: the key ${JSON.stringify(name)} of item ${index} is not usable: 1 to 200 characters without '#'.`,
      )
    if (seen.has(name))
      throw new NerveError('bad-option', `map: two items have the key ${JSON.stringify(name)}. Keys must differ.`)
    seen.add(name)
  }
  return keys
}

function isList(value: unknown): boolean {
  return Array.isArray(value)
}

function checkBranches(what: string, branches: unknown): void {
  if (Array.isArray(branches) && branches.every((branch) => typeof branch === 'function')) return
  throw new NerveError('bad-option', `${what} needs an array of functions, such as () => ctx.step(…), not of promises.`)
}
