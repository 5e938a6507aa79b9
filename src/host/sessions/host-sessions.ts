/**
 * The sessions of one host, whichever of its managers opens them: those that are open, and those that are being opened. A
 * host recovers runs by itself, so it may need a session at the moment in which the program restores it.
 */
import type { Host } from '../host.ts'
import type { Session } from './session.ts'

const known = new WeakMap<Host, HostSessions>()

export class HostSessions {
  readonly open = new Map<string, Session>()
  readonly #opening = new Map<string, Promise<Session>>()

  static of(host: Host): HostSessions {
    const found = known.get(host) ?? new HostSessions()
    known.set(host, found)
    return found
  }

  /** Those that are open, and those that are about to be. */
  names(): readonly string[] {
    return [...new Set([...this.open.keys(), ...this.#opening.keys()])]
  }

  /** Opens one of this name when whoever opens one now is done, whatever came of it. */
  inTurn(name: string, open: () => Promise<Session>): Promise<Session> {
    const mine = this.settled(name).then(open)
    this.#opening.set(name, mine)
    const done = (): void => {
      if (this.#opening.get(name) === mine) this.#opening.delete(name)
    }
    mine.then(done, done)
    return mine
  }

  /** The open one of this name, once whoever opens it now is done. */
  async settled(name: string): Promise<Session | undefined> {
    await this.#opening.get(name)?.catch(() => undefined)
    return this.open.get(name)
  }
}
