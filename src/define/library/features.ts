/** The list of features that Ralph works through: typed state, merged by id. Pure. */
import { channel } from '../state/channel.ts'

export interface Feature {
  readonly id: string
  readonly text: string
  /** `failed` when it was tried as often as it may be. */
  readonly status: 'open' | 'passes' | 'failed'
  /** How often it was tried. */
  readonly attempts: number
  /** Why the tests failed after the last try, in the agent's words. */
  readonly report?: string
}

const LIST = channel.mergeById<Feature>('id')

/** The list with these in the place of those that have their ids. */
export function mergeFeatures(features: readonly Feature[], ...updates: readonly Feature[]): readonly Feature[] {
  return LIST.reduce(features, [updates])
}

/** What the agent listed; undefined when there is no list in what it said. */
export function featuresIn(text: string): readonly Feature[] | undefined {
  for (const candidate of candidates(text)) {
    const items = parsed(candidate)?.filter(isListed)
    if (items === undefined || items.length === 0) continue
    return mergeFeatures([], ...items.map(({ id, text: what }) => openFeature(id.trim(), what)))
  }
  return undefined
}

export function openFeature(id: string, text: string): Feature {
  return { id, text, status: 'open', attempts: 0 }
}

/** After the tests have passed: they speak for everything that was tried. */
export function passed(features: readonly Feature[]): readonly Feature[] {
  const tried = features.filter(({ attempts }) => attempts > 0)
  return mergeFeatures(
    features,
    ...tried.map(({ id, text, attempts }): Feature => ({ id, text, attempts, status: 'passes' })),
  )
}

/** The first JSON of a text that is meant: agents like to wrap it. */
function candidates(text: string): string[] {
  const fenced = [...text.matchAll(/```(?:json)?\s*\n(.*?)```/gsu)].map(([, inner = '']) => inner)
  return [...fenced, text, text.slice(text.indexOf('['), text.lastIndexOf(']') + 1)]
}

function parsed(text: string): readonly unknown[] | undefined {
  try {
    const data = JSON.parse(text) as unknown
    return Array.isArray(data) ? data : undefined
  } catch {
    return undefined
  }
}

function isListed(one: unknown): one is { readonly id: string; readonly text: string } {
  const { id, text } = (typeof one === 'object' && one !== null ? one : {}) as Readonly<Record<string, unknown>>
  return typeof id === 'string' && id.trim() !== '' && typeof text === 'string'
}
