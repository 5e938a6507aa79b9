/** Addresses as people write them, made into what requests say: one that is written otherwise would never fit, and nobody would know why. */
import { NerveError } from '../../base/nerve-error.ts'

/** Where pages come from, as browsers say it. `what` names the option. */
export function pageOrigin(text: string, what: string): string {
  const url = URL.parse(text)
  if (url !== null && url.host !== '' && isBare(url)) return `${url.protocol}//${url.host}`
  throw new NerveError(
    'bad-option',
    `${what}: ${JSON.stringify(text)} is not where pages come from. Give it as https://dashboard.example, without a path.`,
  )
}

/** A name by which a host is called, with its port or without. */
export function hostName(text: string, what: string): string {
  const url = /[\s/?#]/.test(text) ? null : URL.parse(`http://${text}`)
  if (url !== null && isBare(url)) return url.host
  throw new NerveError(
    'bad-option',
    `${what}: ${JSON.stringify(text)} is not a name of a host. Give it as nerve.example, or nerve.example:8443.`,
  )
}

function isBare({ pathname, search, hash, username, password }: URL): boolean {
  return (pathname === '/' || pathname === '') && `${search}${hash}${username}${password}` === ''
}
