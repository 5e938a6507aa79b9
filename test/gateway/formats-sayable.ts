/** What each format can say, as data. */
import type { Effort, ModelRequest, WireFormat } from '../../src/gateway/exchange.ts'

export interface Sayable {
  /** Fields of the request that it has. */
  readonly fields: readonly (keyof ModelRequest)[]
  readonly efforts: readonly Effort[]
  readonly budget: boolean
  readonly show: readonly boolean[]
  readonly jsonWords: boolean
  readonly jsonWithoutSchema: boolean
  readonly strict: boolean
  readonly freeform: boolean
  readonly subset: boolean
  readonly manyAtOnce: readonly boolean[]
  readonly instructionsBetween: boolean
  readonly refusals: boolean
  /** A call may come before a text, and texts may follow each other in a reply. */
  readonly anyOrder: boolean
  /** Two texts of the model in a row stay two. */
  readonly pieces: boolean
  readonly callProof: boolean
  readonly unprovenThoughts: boolean
  readonly failedResults: boolean
  readonly filesInResults: boolean
  readonly textsInResults: boolean
  /** Files that are only linked, and whether their type is said. */
  readonly links: boolean
  readonly exactLinks: boolean
  readonly detail: boolean
  readonly cacheWrite: boolean
  readonly time: boolean
}

const SAYABLE: Readonly<Record<WireFormat, Sayable>> = {
  anthropic: {
    fields: ['temperature', 'topP', 'topK', 'stop', 'user'],
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    budget: true,
    show: [true, false],
    jsonWords: false,
    jsonWithoutSchema: false,
    strict: true,
    freeform: false,
    subset: false,
    manyAtOnce: [false],
    instructionsBetween: true,
    refusals: false,
    anyOrder: true,
    pieces: true,
    callProof: false,
    unprovenThoughts: false,
    failedResults: true,
    filesInResults: true,
    textsInResults: true,
    links: true,
    exactLinks: false,
    detail: false,
    cacheWrite: true,
    time: false,
  },
  'openai-chat': {
    fields: ['temperature', 'topP', 'seed', 'presencePenalty', 'frequencyPenalty', 'stop', 'user', 'verbosity'],
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    budget: false,
    show: [],
    jsonWords: true,
    jsonWithoutSchema: true,
    strict: true,
    freeform: true,
    subset: true,
    manyAtOnce: [true, false],
    instructionsBetween: true,
    refusals: true,
    anyOrder: false,
    pieces: true,
    callProof: true,
    unprovenThoughts: true,
    failedResults: false,
    filesInResults: false,
    textsInResults: true,
    links: true,
    exactLinks: false,
    detail: true,
    cacheWrite: true,
    time: true,
  },
  'openai-responses': {
    fields: ['temperature', 'topP', 'user', 'verbosity'],
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    budget: false,
    show: [true],
    jsonWords: true,
    jsonWithoutSchema: true,
    strict: true,
    freeform: true,
    subset: true,
    manyAtOnce: [true, false],
    instructionsBetween: true,
    refusals: true,
    anyOrder: true,
    pieces: true,
    callProof: false,
    unprovenThoughts: false,
    failedResults: false,
    filesInResults: true,
    textsInResults: true,
    links: true,
    exactLinks: false,
    detail: true,
    cacheWrite: true,
    time: true,
  },
  gemini: {
    fields: ['temperature', 'topP', 'topK', 'seed', 'presencePenalty', 'frequencyPenalty', 'stop'],
    efforts: ['none', 'minimal', 'low', 'medium', 'high'],
    budget: true,
    show: [true, false],
    jsonWords: false,
    jsonWithoutSchema: true,
    strict: false,
    freeform: false,
    subset: true,
    manyAtOnce: [],
    instructionsBetween: false,
    refusals: false,
    anyOrder: true,
    pieces: false,
    callProof: true,
    unprovenThoughts: true,
    failedResults: true,
    filesInResults: true,
    textsInResults: false,
    links: true,
    exactLinks: true,
    detail: false,
    cacheWrite: false,
    time: false,
  },
}

/** What both can say. */
export function common(one: WireFormat, other: WireFormat): Sayable {
  const a = SAYABLE[one]
  const b = SAYABLE[other]
  const entries = Object.entries(a).map(([name, value]) => {
    const second = b[name as keyof Sayable]
    return [name, Array.isArray(value) ? value.filter((x) => (second as unknown[]).includes(x)) : value && second]
  })
  const both = Object.fromEntries(entries) as Sayable
  // The type of a linked file is lost where only one of them says it.
  return { ...both, links: both.links && a.exactLinks === b.exactLinks }
}
