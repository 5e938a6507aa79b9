/**
 * Who may call the gateway. Each client (a node of a run, mostly) has a token of its own, so that every call is counted where it
 * belongs and a budget is asked before a call is made.
 *
 * Invariant: what is reserved for a client's calls in flight, together with what it has spent, was granted by its `reserve`.
 */
import { createHash, randomBytes } from 'node:crypto'
import { NerveError } from '../base/nerve-error.ts'
import type { Usage } from '../journal/events.ts'

export interface TokenOptions {
  readonly run?: string
  readonly path?: string
  /**
   * Asked before each call with what all calls in flight and this one may still cost; throws when the budget does not have it.
   * `reserve` of a step is such a function.
   */
  readonly reserve?: (wanted: Usage) => void
  /** Told after each call what it cost. `usage` of a step is such a function. */
  readonly usage?: (spent: Usage) => void
  /** Revokes the token when it aborts. `signal` of a step ends its calls with it. */
  readonly signal?: AbortSignal
  /** What the token is (default: a random one). At least 20 characters: agents hide their key wherever it occurs in a text. */
  readonly token?: string
}

export interface GatewayToken {
  /** What the client gives as its API key. */
  readonly token: string
  /** What its calls have cost so far. */
  readonly spent: Usage
  /** Ends its calls and takes no more. */
  revoke(): void
}

const SHORTEST_TOKEN = 20

/** What was set aside for one call. */
export interface Reservation {
  /** Charges what the call has cost by now, in all: only what is more than before. */
  spend(total: Usage): void
  /** Gives back what is left. */
  end(): void
}

export class Client {
  readonly id: string
  readonly run: string | undefined
  readonly path: string | undefined
  readonly #options: TokenOptions
  /** Of each call in flight, what is set aside and not yet spent. */
  readonly #held = new Set<{ left: Usage }>()
  readonly #calls = new Set<AbortController>()
  #spent: Usage = {}

  constructor(id: string, options: TokenOptions) {
    this.id = id
    this.#options = options
    this.run = options.run
    this.path = options.path
  }

  get spent(): Usage {
    return this.#spent
  }

  /** Sets aside what a call may cost, or throws. */
  reserve(wanted: Usage): Reservation {
    const all = [...this.#held].reduce((sum, { left }) => add(sum, left), wanted)
    this.#options.reserve?.(all)
    const held = { left: wanted }
    this.#held.add(held)
    let charged: Usage = {}
    return {
      spend: (total) => {
        const more = beyond(total, charged)
        if (Object.keys(more).length === 0) return
        charged = add(charged, more)
        held.left = beyond(wanted, charged)
        this.#spent = add(this.#spent, more)
        this.#options.usage?.(more)
      },
      end: () => void this.#held.delete(held),
    }
  }

  /** A call that ends when the token does. */
  begin(call: AbortController): void {
    this.#calls.add(call)
  }

  leave(call: AbortController): void {
    this.#calls.delete(call)
  }

  revoke(): void {
    for (const call of this.#calls) call.abort(new Error('the token was revoked'))
  }
}

export class Clients {
  /** By the digest of the token: finding one takes as long as not finding one. */
  readonly #clients = new Map<string, Client>()
  #last = 0

  create(options: TokenOptions): GatewayToken {
    const token = options.token ?? `nerve-${randomBytes(24).toString('hex')}`
    if (token.length < SHORTEST_TOKEN)
      throw new NerveError('bad-option', `A token of the gateway has at least ${SHORTEST_TOKEN} characters.`)
    const client = new Client(`client-${(this.#last += 1)}`, options)
    const key = digest(token)
    this.#clients.set(key, client)
    const revoke = (): void => {
      options.signal?.removeEventListener('abort', revoke)
      this.#clients.delete(key)
      client.revoke()
    }
    if (options.signal?.aborted === true) revoke()
    options.signal?.addEventListener('abort', revoke, { once: true })
    return {
      token,
      get spent() {
        return client.spent
      },
      revoke,
    }
  }

  find(token: string): Client | undefined {
    return this.#clients.get(digest(token))
  }

  end(): void {
    for (const client of this.#clients.values()) client.revoke()
    this.#clients.clear()
  }
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

function add(one: Usage, two: Usage): Usage {
  const total: Record<string, number> = { ...one }
  for (const [dimension, amount] of Object.entries(two))
    if (amount !== undefined) total[dimension] = (total[dimension] ?? 0) + (amount as number)
  return total
}

/** What the first has more than the second. */
function beyond(one: Usage, two: Usage): Usage {
  const more: Record<string, number> = {}
  for (const [dimension, amount] of Object.entries(one)) {
    const over = (amount as number) - (two[dimension as keyof Usage] ?? 0)
    if (over > 0) more[dimension] = over
  }
  return more
}
