/** Who may come in, and as whom. A browser can reach loopback too: it names itself by its Origin, or by a Host that it made point here. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { userInfo } from 'node:os'
import { NerveError } from '../../base/nerve-error.ts'
import type { Caller } from '../../host/contract/service.ts'
import { RateLimit, type Rate } from './rate-limit.ts'
import type { Tokens } from './tokens.ts'

/** Somebody who was let in. */
export interface Visitor {
  readonly caller: Caller
  /** False when the token was taken back since. */
  readonly isWelcome: () => boolean
  /** Takes one from what they may ask; throws when there is nothing left. */
  readonly count: () => void
}

export interface DoorkeeperOptions {
  readonly tokens?: Tokens | undefined
  /** Names by which this host is called in addresses, beside loopback and its own address. */
  readonly hosts?: readonly string[] | undefined
  /** Where pages may come from that use it: `https://dashboard.example`. Its own pages always may. */
  readonly origins?: readonly string[] | undefined
  readonly rate?: Rate | undefined
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']
const RATE: Rate = { burst: 1_000, perSecond: 500 }
const WRONG_TOKENS: Rate = { burst: 20, perSecond: 0.5 }
const LOOK_AGAIN_MS = 1_000

export class Doorkeeper {
  readonly #options: DoorkeeperOptions
  readonly #rate: RateLimit
  readonly #wrong = new RateLimit(WRONG_TOKENS)

  constructor(options: DoorkeeperOptions) {
    this.#options = options
    this.#rate = new RateLimit(options.rate ?? RATE)
  }

  /** Whoever can open the socket is its user. */
  neighbour(): Visitor {
    return {
      caller: { scope: 'control', local: true, via: 'socket', ...username() },
      isWelcome: () => true,
      count: () => undefined,
    }
  }

  /** The one who has this token. Somebody who guesses has few tries. */
  withToken(secret: string | undefined, from: string, via: string): Visitor {
    const { tokens } = this.#options
    const token = secret === undefined ? undefined : tokens?.find(secret)
    if (token === undefined || tokens === undefined) {
      if (!this.#wrong.take(from)) throw tooOften('There were too many wrong tokens from this address.')
      throw new NerveError(
        'not-allowed',
        secret === undefined
          ? 'A token is needed here: Authorization: Bearer …, or {"token":"…"} as the first line.'
          : 'This token is not known here. It may have been rotated or revoked.',
        { data: { reason: 'token' } },
      )
    }
    const { name, scope } = token
    let looked = Date.now()
    let welcome = true
    return {
      caller: { scope, local: false, by: name, via },
      isWelcome: () => {
        if (Date.now() - looked > LOOK_AGAIN_MS) {
          looked = Date.now()
          welcome = tokens.list().some((one) => one.secret === token.secret && one.scope === scope)
        }
        return welcome
      },
      count: () => {
        if (!this.#rate.take(name)) throw tooOften(`The token '${name}' asks too often.`)
      },
    }
  }

  /** Refuses requests that a page of somebody else made: DNS rebinding, and requests across sites. */
  checkAddress(headers: IncomingHttpHeaders, socket: Socket): void {
    const host = headers.host?.toLowerCase() ?? ''
    if (!this.#ownNames(socket).includes(host))
      throw new NerveError('not-allowed', `There is no host ${JSON.stringify(host)} here.`, {
        data: { reason: 'host' },
      })
    const { origin } = headers
    if (origin !== undefined && !this.mayUse(origin, socket))
      throw new NerveError('not-allowed', `Pages of ${JSON.stringify(origin)} may not use this host.`, {
        data: { reason: 'origin' },
      })
    const site = headers['sec-fetch-site']
    if (origin === undefined && site !== undefined && site !== 'same-origin' && site !== 'none')
      throw new NerveError('not-allowed', 'Pages of other sites may not use this host.', { data: { reason: 'origin' } })
  }

  mayUse(origin: string, socket: Socket): boolean {
    const own = this.#ownNames(socket).flatMap((name) => [`http://${name}`, `https://${name}`])
    return own.includes(origin.toLowerCase()) || (this.#options.origins ?? []).includes(origin)
  }

  #ownNames({ localPort = 0, localAddress = '' }: Socket): readonly string[] {
    const address = localAddress.replace(/^::ffff:/, '')
    const mine = address.includes(':') ? `[${address}]` : address
    return [
      ...[...LOOPBACK, mine].map((name) => `${name}:${localPort}`),
      ...(this.#options.hosts ?? []).flatMap((name) => [name.toLowerCase(), `${name.toLowerCase()}:${localPort}`]),
    ]
  }
}

export function bearerIn({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer\s+(\S+)$/i.exec(authorization ?? '')?.[1]
}

function tooOften(message: string): NerveError {
  return new NerveError('limit-reached', `${message} Wait a little.`, { retry: 'later', data: { reason: 'rate' } })
}

function username(): { readonly by?: string } {
  try {
    return { by: userInfo().username }
  } catch {
    // Some containers have users without a name.
    return {}
  }
}
