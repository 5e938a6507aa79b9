/**
 * The crash matrix: every shape is killed at every failpoint, at its first passing and at later ones, then several
 * times in a row while it is being recovered, then at random times. NERVE_LONG=1 kills at every passing and many more
 * times at random; NERVE_SEED=n repeats a random part.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { wasKilled, type Kill } from 'nerve/testing'
import { FAILPOINTS } from '../../src/base/failpoint.ts'
import { killed, pairwise, program } from './kill.ts'
import { SHAPES } from './shapes.ts'
import { Survivor } from './survivor.ts'

/** Two shapes are for tests of their own (ownership.test.ts): they are slow, or die by their own hand. */
const MATRIX = Object.keys(SHAPES).filter((shape) => shape !== 'slow' && shape !== 'held')
const LONG = process.env['NERVE_LONG'] === '1'
const SEED = Number(process.env['NERVE_SEED'] ?? Date.now() % 1_000_000)
const PATIENCE = LONG ? 1_800_000 : 120_000
/** How many passings of a failpoint are tried at most. */
const MOST = LONG ? 60 : 24

interface Outcome {
  readonly fired: boolean
  readonly problems: readonly string[]
  readonly passings: Readonly<Record<string, number>>
}

/** One for each lane, for kills that are about the process that dies. */
let survivors: readonly [Survivor, Survivor]

beforeAll(() => {
  survivors = [new Survivor(program('worker')), new Survivor(program('worker'))]
})

afterAll(() => survivors.forEach((one) => one.end()))

async function attempt(shape: string, kills: readonly Kill[], survivor?: Survivor): Promise<Outcome> {
  const { report, problems, passings } = await killed(shape, kills, survivor)
  const said = problems.map((problem) => `${shape} killed at ${JSON.stringify(kills)}: ${problem}`)
  return { fired: wasKilled(report), problems: said, passings }
}

/**
 * One failpoint at its first passing, and from a later one on that the seed chooses in strides, for as long as the run gets
 * there; it passes it `count` times if nothing kills it. Over several seeds every passing has its turn.
 */
async function passings(shape: string, name: string, count: number, survivor: Survivor): Promise<readonly string[]> {
  const stride = LONG ? 1 : name === 'commit-after' || name === 'commit-before' ? 6 : 12
  const most = LONG ? MOST : Math.min(MOST, count)
  const problems: string[] = []
  for (let passing = 1; passing <= most; passing += passing === 1 ? 1 + (SEED % stride) : stride) {
    const outcome = await attempt(shape, [{ at: `${name}:${passing}` }], survivor)
    problems.push(...outcome.problems)
    if (!outcome.fired) break
  }
  return problems
}

/** Numbers between 0 and 1 that a seed gives again (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

describe('the crash matrix', () => {
  test.each(MATRIX)(
    'a run of the shape %s survives a kill at every failpoint',
    async (shape) => {
      // Where an undisturbed run does not come by, nothing can be killed.
      const undisturbed = await attempt(shape, [])
      expect(undisturbed).toMatchObject({
        fired: false,
        problems: [],
        passings: { 'commit-before': expect.any(Number) },
      })
      const problems = await pairwise(FAILPOINTS, (name, lane) =>
        passings(shape, name, undisturbed.passings[name] ?? 0, survivors[lane]),
      )
      expect(problems.flat(), `NERVE_SEED=${SEED}`).toEqual([])
    },
    PATIENCE,
  )

  test(
    'a run survives kills of the processes that recover it, one after the other',
    async () => {
      const during = ['recover-before', 'claim-after', 'replay-after', 'commit-before', 'commit-half', 'deliver-before']
      const starts = LONG ? [1, 3, 5, 7, 9, 11, 13] : [5]
      const jobs = MATRIX.flatMap((shape) => starts.map((passing) => ({ shape, passing })))
      const problems = await pairwise(jobs, async ({ shape, passing }) => {
        const kills = [`commit-after:${passing}`, ...during, 'step-before', 'step-after'].map((at) => ({ at }))
        return (await attempt(shape, kills)).problems
      })
      expect(problems.flat()).toEqual([])
    },
    PATIENCE,
  )

  test(
    'a run survives kills at random times',
    async () => {
      console.log(`crash matrix: NERVE_SEED=${SEED}`)
      const random = randomFrom(SEED)
      const rounds = LONG ? 40 : 2
      const jobs = MATRIX.flatMap((shape) =>
        Array.from({ length: rounds }, () => ({
          shape,
          kills: [0, 1].map(() => ({ after: Math.floor(random() * 70) })),
        })),
      )
      const problems = await pairwise(jobs, async ({ shape, kills }) => (await attempt(shape, kills)).problems)
      expect(problems.flat(), `NERVE_SEED=${SEED}`).toEqual([])
    },
    PATIENCE,
  )
})
