/** Answers with what was recorded, and with nothing else. A request that was made more than once has its answers in their order. */
import type { Answer, Backend } from '../backend.ts'
import type { ModelFailure } from '../exchange.ts'
import { differences, type Difference } from './difference.ts'
import { kept, readRecordings, type KeptRequest, type Recording, type RecordingOptions } from './recordings.ts'

export interface ReplayOptions extends RecordingOptions {
  /** Answers what is not recorded; without it, that is a failure that shows the nearest recording. */
  readonly otherwise?: Backend
}

const MOST_SHOWN = 4

export function replay(options: ReplayOptions): Backend {
  const { folder, otherwise } = options
  let reading: Promise<ReadonlyMap<string, readonly Recording[]>> | undefined
  const used = new Map<string, number>()
  return {
    name: 'replay',
    async answer(request, call) {
      const asked = kept(request, options)
      const recordings = await (reading ??= readRecordings(folder))
      const number = used.get(asked.key) ?? 0
      const found = recordings.get(asked.key)?.[number]
      if (found === undefined && otherwise !== undefined) return otherwise.answer(request, call)
      if (found === undefined) return { type: 'failed', failure: missing(asked, number, { recordings, folder }) }
      used.set(asked.key, number + 1)
      return answerOf(found)
    },
  }
}

function answerOf({ reply, failure }: Recording): Answer {
  if (reply !== undefined) return { type: 'reply', reply }
  if (failure !== undefined) return { type: 'failed', failure }
  throw new Error('a recording without an outcome')
}

interface Known {
  readonly recordings: ReadonlyMap<string, readonly Recording[]>
  readonly folder: string
}

function missing(asked: KeptRequest, number: number, { recordings, folder }: Known): ModelFailure {
  const failure = (message: string): ModelFailure => ({ kind: 'not-found', status: 404, message })
  const times = number === 1 ? 'once' : `${number} times`
  if (number > 0)
    return failure(`This request was recorded ${times} in ${folder}, and it is made once more. Record it again.`)
  const near = nearestTo(asked, recordings)
  if (near === undefined) return failure(`Nothing is recorded in ${folder}. Record the exchanges first.`)
  const shown = near.found
    .slice(0, MOST_SHOWN)
    .map(({ path, recorded, asked: now }) => `${path}: recorded ${recorded}, asked ${now}`)
  const more = near.found.length - shown.length
  return failure(
    `This request is not recorded in ${folder}. The nearest one, ${near.key}-1.json, differs in: ${shown.join('; ')}` +
      `${more > 0 ? `; and in ${more} more places` : ''}. Record it again, or let \`normalise\` take out what differs from run to run.`,
  )
}

function nearestTo(
  { request }: KeptRequest,
  recordings: Known['recordings'],
): { readonly key: string; readonly found: readonly Difference[] } | undefined {
  let best: { readonly key: string; readonly found: readonly Difference[] } | undefined
  for (const [key, [first]] of recordings) {
    const found = first === undefined ? [] : differences(first.request, request)
    if (best === undefined || found.length < best.found.length) best = { key, found }
  }
  return best
}
