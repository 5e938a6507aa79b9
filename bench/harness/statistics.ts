// Medians, spread and growth. Pure.

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const low = sorted[Math.floor(at)] ?? Number.NaN
  const high = sorted[Math.ceil(at)] ?? Number.NaN
  return low + (high - low) * (at - Math.floor(at))
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** How much the middle half of the samples varies, relative to the median. Unknown (infinite) below three samples. */
export function spread(values: readonly number[]): number {
  if (values.length < 3) return Number.POSITIVE_INFINITY
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)
}

/** Least-squares slope of log(cost) over log(size): 1 means that the cost per step stays flat. */
export function growthExponent(points: readonly (readonly [size: number, cost: number])[]): number | null {
  const logs = points
    .filter(([size, cost]) => size > 0 && cost > 0)
    .map(([x, y]) => [Math.log(x), Math.log(y)] as const)
  if (logs.length < 2) return null
  const meanX = logs.reduce((sum, [x]) => sum + x, 0) / logs.length
  const meanY = logs.reduce((sum, [, y]) => sum + y, 0) / logs.length
  const rise = logs.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const run = logs.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return run === 0 ? null : rise / run
}

/** The same order every time for the same seed, another one for another seed. */
export function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const result = [...items]
  let state = (seed * 7919 + 13) & 0x7fffffff
  for (let i = result.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    const j = (state >> 8) % (i + 1)
    const held = result[i] as Item
    result[i] = result[j] as Item
    result[j] = held
  }
  return result
}
