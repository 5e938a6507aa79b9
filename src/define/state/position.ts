/** Where a run of a state graph is between two steps, and how a run is told to begin elsewhere than at the start. */
import { decodeValue, encodeValue, isPlainValue } from '../../base/value.ts'
import type { Resumable } from './checkpoint.ts'
import type { Values } from './channel.ts'

export interface Position {
  readonly step: number
  readonly state: Values
  /** What runs next, and what each of them is given: nothing, the items sent to it, or the error that it handles. */
  readonly active: ReadonlyMap<string, unknown[]>
  /** By join: the nodes that have come there. */
  readonly joins: ReadonlyMap<string, ReadonlySet<string>>
  /** By loop: how many iterations have ended. */
  readonly loops: ReadonlyMap<string, number>
}

/** A change to the state after a step, made by somebody outside. */
export interface Edit {
  readonly step: number
  readonly update: Values
  /** What runs next is what comes after this node. */
  readonly asNode?: string
}

/** What a run is told through its params, where a fork and a replay find it again. */
export interface Told {
  readonly from?: Resumable
  readonly edits?: readonly Edit[]
}

export const PARAM = 'nerve:state-graph'
/** For what runs inside: it is told nothing. */
export const NO_EDITS: Readonly<Record<string, unknown>> = { [PARAM]: undefined }

/** Params are plain JSON, and a state may hold more than that. */
export function toldParams(told: Told): Readonly<Record<string, unknown>> {
  if (isPlainValue(told)) return { [PARAM]: { told } }
  return { [PARAM]: { text: encodeValue(told, 'The state').text } }
}

export function toldBy(params: Readonly<Record<string, unknown>>): Told {
  const packed = params[PARAM] as { readonly told?: Told; readonly text?: string } | undefined
  if (packed === undefined) return {}
  return packed.told ?? (decodeValue(packed.text, true) as Told)
}
