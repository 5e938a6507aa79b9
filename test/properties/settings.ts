/** How long properties run. A failure prints its seed and path: put them here to see it again. */
import type { Parameters } from 'fast-check'

const SCALE = Number(process.env['NERVE_PROPERTY_SCALE'] ?? 1)

/** So many runs, or as many as fit into some seconds; what ran by then must hold. */
export function bounded<Values>(numRuns: number, seconds = 8): Parameters<Values> {
  return {
    numRuns: Math.ceil(numRuns * SCALE),
    interruptAfterTimeLimit: seconds * 1_000 * SCALE,
    markInterruptAsFailure: false,
  }
}
