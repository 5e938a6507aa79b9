import type { Engine } from '../engine/engine.ts'
import { recoverRuns } from '../engine/recovery.ts'

/**
 * Takes up what dead hosts left once more, when it is certain who is dead: it would else stay as it is until the next
 * start. Gives what takes that back.
 */
export async function lookAgain(engine: Engine, onProblem: (error: unknown) => void): Promise<() => void> {
  const at = await engine.ownership.certainAt()
  if (at === undefined) return () => undefined
  return engine.clock.at(at, () => void recoverRuns(engine).catch(onProblem))
}
