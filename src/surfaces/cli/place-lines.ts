/** Where in the files of an author something failed. */
import { relative } from 'node:path'
import { placeOf } from '../../base/error-place.ts'
import type { ErrorData } from '../../base/nerve-error.ts'

/** One place and no stack, from the folder that the command is in. */
export function placeLines({ stack, cause }: ErrorData): string[] {
  const place = placeOf(stack)
  if (place === undefined) return cause === undefined ? [] : placeLines(cause)
  const near = relative(process.cwd(), place)
  return [`  in ${near.startsWith('..') ? place : near}`]
}
