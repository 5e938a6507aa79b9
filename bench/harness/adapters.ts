// From the name of a series to its adapter. "langgraph:sqlite" is the adapter langgraph with the variant sqlite.
import type { Series } from './contract.ts'

/** Adapters that need nothing but Node and this repository. All others live in peers/ with packages of their own. */
const OWN = new Set(['bare', 'raw', 'nerve'])

export function splitSeries(series: string): { adapter: string; variant: string | null } {
  const [adapter = series, variant = null] = series.split(':')
  return { adapter, variant }
}

export const isPeer = (series: string): boolean => !OWN.has(splitSeries(series).adapter)

export async function loadSeries(series: string): Promise<Series> {
  const { adapter, variant } = splitSeries(series)
  const folder = OWN.has(adapter) ? '../series' : '../peers'
  const module = (await import(`${folder}/${adapter}.ts`)) as { load(variant: string | null): Promise<Series> }
  return module.load(variant)
}
