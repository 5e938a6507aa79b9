/** Who may come in, and as whom. A browser can reach loopback too: it names itself by its Origin, or by a Host that it made point here. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { userInfo } from 'node:os'
import { NerveError } from '../../base/nerve-error.ts'
import type { Caller } from '../../host/contract/service.ts'
import { hostName, pageOrigin } from './addresses.ts'
import { RateLimit, type Rate } from './rate-limit.ts'
import { Share } from './share.ts'
import type { Token, Tokens } from './tokens.ts'

/** Somebody who was let in. */
export interface Visitor {
  readonly caller: Caller
  /** False when the token was taken back since. */
  readonly isWelcome: () => boolean
  /** Takes one from what they may ask; throws when there is nothing left. */
  readonly count: () => void
  /** So many characters are on their way to them, until what it returns is called. Throws when too many are already. */
  readonly owe: (length: number) => () => void
  /** They have a feed, until what it returns is called. Throws when they have too many. */
  readonly listen: () => () => void
}

export interface DoorkeeperOptions {
  readonly tokens?: Tokens | undefined
  /** Names by which this host is called in addresses, beside loopback and its own address. */
  readonly hosts?: readonly string[] | undefined
  /** Where pages may come from that use it: `https://dashboard.example`. Its own pages always may. */
  readonly origins?: readonly string[] | undefined
  readonly rate?: Rate | undefined
  readonly maxUnread?: number | undefined
  readonly onProblem?: ((error: unknown) => void) | undefined
}

const HTTP_PORT = 80
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']
const RATE: Rate = { burst: 1_000, perSecond: 500 }
const WRONG_TOKENS: Rate = { burst: 20, perSecond: 0.5 }
const LOOK_AGAIN_MS = 1_000
/** In characters. */
const MOST_UNREAD = 134_217_728
/** Each event is given to each of them. */
const MOST_FEEDS = 4_096

export class Doorkeeper {
  readonly #options: DoorkeeperOptions
  readonly #names: readonly string[]
  readonly #pages: readonly string[]
  readonly #rate: RateLimit
  readonly #wrong = new RateLimit(WRONG_TOKENS)
  readonly #unread: Share
  readonly #feeds = new Share(MOST_FEEDS, { message: 'has too many feeds open.', reason: 'feeds' })
  /** What is wrong with the file of tokens, as it was told last. */
  #told = ''

  constructor(options: DoorkeeperOptions) {
    this.#options = options
    this.#names = (options.hosts ?? []).map((name) => hostName(name, 'hosts'))
    this.#pages = (options.origins ?? []).map((page) => pageOrigin(page, 'origins'))
    this.#rate = new RateLimit(options.rate ?? RATE)
    const message = 'has too many answers that it has not read. Read them first.'
    this.#unread = new Share(options.maxUnread ?? MOST_UNREAD, { message, reason: 'unread' })
  }

  /** Whoever can open the socket is its user. */
  neighbour(): Visitor {
    return {
      caller: { scope: 'control', local: true, via: 'socket', ...username() },
      isWelcome: () => true,
      count: () => undefined,
      owe: () => () => undefined,
      listen: () => () => undefined,
    }
  }

  /** The one who has this token. Somebody who guesses has few tries. */
  withToken(secret: string | undefined, from: string, via: string): Visitor {
    const token = secret === undefined ? undefined : this.#known((tokens) => tokens.find(secret))
    if (token === undefined) {
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
    let looked = performance.now()
    let welcome = true
    return {
      caller: { scope, local: false, by: name, via },
      isWelcome: () => {
        if (performance.now() - looked > LOOK_AGAIN_MS) {
          looked = performance.now()
          welcome = this.#known((tokens) => tokens.list().find((one) => isSame(one, token))) !== undefined
        }
        return welcome
      },
      count: () => {
        if (!this.#rate.take(name)) throw tooOften(`The token '${name}' asks too often.`)
        this.#unread.check(name)
      },
      owe: (length) => this.#unread.take(name, length),
      listen: () => this.#feeds.take(name, 1),
    }
  }

  /** A file of tokens that cannot be used lets nobody in. What is wrong with it is for whoever runs the host, and not for who asks. */
  #known(find: (tokens: Tokens) => Token | undefined): Token | undefined {
    const { tokens, onProblem } = this.#options
    try {
      const found = tokens === undefined ? undefined : find(tokens)
      this.#told = ''
      return found
    } catch (error) {
      // Once, however often somebody comes.
      if (this.#told !== String(error)) onProblem?.(error)
      this.#told = String(error)
      return undefined
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
    return [...own, ...this.#pages].includes(origin.toLowerCase())
  }

  #ownNames({ localPort = 0, localAddress = '' }: Socket): readonly string[] {
    const address = localAddress.replace(/^::ffff:/, '')
    const own = [...LOOPBACK, address.includes(':') ? `[${address}]` : address]
    // The port of the protocol is left out of addresses; behind a proxy, others are too.
    const bare = localPort === HTTP_PORT ? [...own, ...this.#names] : this.#names
    return [...bare, ...[...own, ...this.#names].map((name) => `${name}:${localPort}`)]
  }
}

function isSame(one: Token, other: Token): boolean {
  return one.secret === other.secret && one.scope === other.scope
}

export function bearerIn({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer\s+(\S+)$/i.exec(authorization ?? '')?.[1]
}

/** For who was welcome before. */
export function takenBack(): NerveError {
  return new NerveError('not-allowed', 'This token was rotated or revoked.', { data: { reason: 'token' } })
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
