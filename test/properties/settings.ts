/**
 * How long properties run. A failure prints its seed and path: give them to fc.assert to see it again.
 * NERVE_PROPERTY_SCALE=10 looks ten times as long.
 */
const SCALE = Number(process.env['NERVE_PROPERTY_SCALE'] ?? 1)

export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * SCALE) }
}

/**
 * The property, until some seconds have passed since it was first tried; after that it is taken as it is. A time limit
 * of fast-check would leave the run that it interrupts going on beside the next one. On a machine that is busy it goes on
 * until it has seen enough: a property that counts what it saw must not depend on how fast it saw it.
 */
export function within<Values extends unknown[]>(
  seconds: number,
  property: (...values: Values) => Promise<void>,
  seenEnough: () => boolean = () => true,
): (...values: Values) => Promise<void> {
  let deadline: number | undefined
  return async (...values) => {
    deadline ??= performance.now() + seconds * 1_000 * SCALE
    if (performance.now() < deadline || !seenEnough()) await property(...values)
  }
}
