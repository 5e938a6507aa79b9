/** A checkpoint as JSON that people can read and edit. What JSON cannot hold is tagged, and then `tagged` says so. */
import { decodeValue, encodeValue, isPlainValue } from '../../base/value.ts'
import type { Checkpoint } from '../../define/state/checkpoint.ts'

export function toJson(checkpoint: Checkpoint): string {
  if (isPlainValue(checkpoint)) return JSON.stringify(checkpoint, null, 2)
  const { text = '{}' } = encodeValue(checkpoint, 'The checkpoint')
  return JSON.stringify({ tagged: true, ...(JSON.parse(text) as object) }, null, 2)
}

export function fromJson(text: string): unknown {
  const found: unknown = JSON.parse(text)
  if (typeof found !== 'object' || found === null || !('tagged' in found)) return found
  const { tagged: _tagged, ...checkpoint } = found
  return decodeValue(JSON.stringify(checkpoint), true)
}
