/** How large a request may be. */
import { NerveError } from '../../base/nerve-error.ts'

const MIB = 1_048_576

/** Of those who have not been let in: there may be many of them, and a token is short. */
export const LARGEST_UNKNOWN = 65_536

/** Only the user can open the unix socket, and gives a run what it needs; whoever comes by TCP holds memory of others. */
export function largest(maxBody: number | undefined, isNear: boolean): number {
  return maxBody ?? (isNear ? 256 * MIB : MIB)
}

export function tooLarge(most: number): NerveError {
  return new NerveError(
    'limit-reached',
    `A request of more than ${most} bytes is not taken here. Put what is large into a file, and send where that is.`,
    { data: { reason: 'size' } },
  )
}
