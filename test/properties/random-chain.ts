/** Random chains, and what they should do according to a plain interpreter. */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { stateGraph } from 'nerve/state'
import { channels, type State } from './random-state-graph.ts'

/** A part of a chain. Its number is its id. */
export type PartSpec =
  | { readonly type: 'then'; readonly turns: number; readonly fails: number }
  | { readonly type: 'wait' }
  | { readonly type: 'catch'; readonly fails: boolean }
  | { readonly type: 'if'; readonly odd: boolean; readonly yes: readonly PartSpec[]; readonly no: readonly PartSpec[] }
  | { readonly type: 'loop'; readonly times: number; readonly max: number; readonly body: readonly PartSpec[] }
  | { readonly type: 'parallel'; readonly branches: readonly (readonly PartSpec[])[] }

export const chains: fc.Arbitrary<readonly PartSpec[]> = fc.letrec<{ parts: readonly PartSpec[]; part: PartSpec }>(
  (tie) => ({
    parts: fc.array(tie('part'), { minLength: 1, maxLength: 4 }),
    part: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.record({
        type: fc.constant('then' as const),
        turns: fc.nat(2),
        // It fails for good at this visit.
        fails: fc.constantFrom(9, 9, 9, 0, 1),
      }),
      fc.record({ type: fc.constant('wait' as const) }),
      fc.record({ type: fc.constant('catch' as const), fails: fc.constantFrom(false, false, true) }),
      fc.record({ type: fc.constant('if' as const), odd: fc.boolean(), yes: tie('parts'), no: tie('parts') }),
      fc.record({
        type: fc.constant('loop' as const),
        times: fc.nat(3),
        max: fc.integer({ min: 1, max: 2 }),
        body: tie('parts'),
      }),
      fc.record({
        type: fc.constant('parallel' as const),
        branches: fc.array(tie('parts'), { minLength: 1, maxLength: 3 }),
      }),
    ),
  }),
).parts

interface Loose {
  then(id: string, run: (state: State, call: unknown) => unknown): Loose
  if(condition: (state: State) => boolean, options: object): Loose
  else(): Loose
  endif(): Loose
  loop(options: object, body: (body: Loose) => Loose): Loose
  parallel(options: object): Loose
  wait(prompt: string, options: object): Loose
  catch(handle: (error: Error) => unknown, options: object): Loose
  end(): { compile(options: object): ReturnType<typeof typed> }
}

function typed() {
  return stateGraph('random-chain', channels)
    .start()
    .then('any', () => ({}))
    .end()
    .compile()
}

function noted(id: string, visit: number) {
  return { log: [`${id} ${visit}`], sum: 1, visits: { [id]: visit + 1 }, last: id }
}

/** A catch needs something before it. */
export function mended(parts: readonly PartSpec[]): readonly PartSpec[] {
  const kept = parts[0]?.type === 'catch' ? parts.slice(1) : parts
  if (kept.length === 0) return [{ type: 'then', turns: 0, fails: 9 }]
  return kept[0]?.type === 'catch' ? mended(kept) : kept.map(mendedPart)
}

function mendedPart(part: PartSpec): PartSpec {
  switch (part.type) {
    case 'if':
      return { ...part, yes: mended(part.yes), no: mended(part.no) }
    case 'loop':
      return { ...part, body: mended(part.body) }
    case 'parallel':
      return { ...part, branches: part.branches.map(mended) }
    default:
      return part
  }
}

export function buildChain(parts: readonly PartSpec[]): ReturnType<typeof typed> {
  const chain = stateGraph('random-chain', channels).start() as unknown as Loose
  return addParts(chain, parts, 'p').end().compile({ maxSteps: 1_000 })
}

function addParts(chain: Loose, parts: readonly PartSpec[], prefix: string): Loose {
  return parts.reduce((so, part, at) => addPart(so, part, `${prefix}${at}`), chain)
}

function addPart(chain: Loose, part: PartSpec, id: string): Loose {
  switch (part.type) {
    case 'then':
      return chain.then(id, async ({ visits }) => {
        for (let left = part.turns; left > 0; left -= 1) await turn()
        const visit = visits[id] ?? 0
        if (visit === part.fails) throw new Error(`${id} fails`)
        return noted(id, visit)
      })
    case 'wait':
      return chain.wait(JSON.stringify('yes'), {
        id,
        into: (answer: string, { visits }: State) => noted(id, (visits[id] ?? 0) + answer.length - 3),
      })
    case 'catch':
      return chain.catch(
        (error) => {
          if (part.fails) throw new Error(`${id} fails too`)
          // Which of two branches fails first is a matter of time, so what it says is not kept.
          return { log: [`${id} caught ${/fails/u.exec(error.message)?.[0]}`], sum: 1 }
        },
        { id },
      )
    case 'if': {
      const open = chain.if(({ sum }) => (sum % 2 === 1) === part.odd, { id })
      return addParts(addParts(open, part.yes, `${id}y`).else(), part.no, `${id}n`).endif()
    }
    case 'loop': {
      const until = (_state: State, { iteration }: { iteration: number }): boolean => iteration === part.times
      return chain.loop({ until, max: part.max, id }, (body) => addParts(body, part.body, `${id}l`))
    }
    case 'parallel': {
      const named = part.branches.map((branch, at) => [
        `b${at}`,
        (inner: Loose) => addParts(inner, branch, `${id}b${at}`),
      ])
      return chain.parallel({ id, branches: Object.fromEntries(named) as object })
    }
  }
}

interface Ran {
  readonly state: State
  readonly updates: readonly Partial<State>[]
}

class Failed extends Error {
  readonly ran: Ran
  constructor(message: string, ran: Ran) {
    super(message)
    this.ran = ran
  }
}

export type Expected = { readonly state: State } | { readonly error: string }

/** What a chain gives, or how it fails. */
export function expectedOf(parts: readonly PartSpec[]): Expected {
  const empty: State = { log: [], sum: 0, visits: {}, last: '', things: [] }
  try {
    return { state: runParts({ state: empty, updates: [] }, parts, 'p').state }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

function runParts(from: Ran, parts: readonly PartSpec[], prefix: string): Ran {
  let ran = from
  let failed: Failed | undefined
  for (const [at, part] of parts.entries()) {
    const id = `${prefix}${at}`
    try {
      if (part.type === 'catch') {
        if (failed === undefined) continue
        ran = failed.ran
        failed = undefined
        if (part.fails) throw new Failed(`${id} fails too`, ran)
        ran = changed(ran, { log: [`${id} caught fails`], sum: 1 })
      } else if (failed === undefined) ran = runPart(ran, part, id)
    } catch (error) {
      failed = error as Failed
    }
  }
  if (failed !== undefined) throw failed
  return ran
}

function runPart(ran: Ran, part: Exclude<PartSpec, { type: 'catch' }>, id: string): Ran {
  const visit = ran.state.visits[id] ?? 0
  switch (part.type) {
    case 'then':
      if (visit === part.fails) throw new Failed(`${id} fails`, ran)
      return changed(ran, noted(id, visit))
    case 'wait':
      return changed(ran, noted(id, visit))
    case 'if': {
      const yes = (ran.state.sum % 2 === 1) === part.odd
      return yes ? runParts(ran, part.yes, `${id}y`) : runParts(ran, part.no, `${id}n`)
    }
    case 'loop': {
      let now = ran
      for (let round = 0; round < Math.min(part.times, part.max); round += 1) now = runParts(now, part.body, `${id}l`)
      return now
    }
    case 'parallel': {
      const ended = part.branches.map((branch, at) => {
        try {
          return runParts({ state: ran.state, updates: [] }, branch, `${id}b${at}`)
        } catch (error) {
          return error as Failed
        }
      })
      const failed = ended.find((one) => one instanceof Failed)
      if (failed !== undefined) throw new Failed(failed.message, ran)
      return (ended as Ran[]).flatMap(({ updates }) => updates).reduce(changed, ran)
    }
  }
}

function changed({ state, updates }: Ran, update: Partial<State>): Ran {
  const next = {
    ...state,
    log: [...state.log, ...(update.log ?? [])],
    sum: state.sum + (update.sum ?? 0),
    visits: { ...state.visits, ...update.visits },
    last: update.last ?? state.last,
  }
  return { state: next, updates: [...updates, update] }
}
