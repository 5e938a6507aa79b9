/** Which Node this is. */
import { NerveError } from './nerve-error.ts'

/** As `engines` in package.json says, which npm only warns of. */
const OLDEST = [22, 19] as const

/** Refuses a Node that lacks what Nerve is made of, before that is missed somewhere in the middle. */
export function demandNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return
  throw new NerveError(
    'package-missing',
    `Nerve needs Node ${OLDEST.join('.')} or newer; this is ${process.version}.`,
    {
      data: { package: 'node' },
    },
  )
}
