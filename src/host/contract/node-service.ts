/**
 * The part of the contract that is about nodes, for a caller in this process. It is known who asks, and the compiler has
 * checked what is asked, so no schema is looked at or even loaded: commands that use it start twice as fast.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { Actor } from '../../journal/events.ts'
import type { Host } from '../host.ts'
import type { Asked } from './calls.ts'
import { nodeCalls, nodeFeeds } from './node-calls.ts'
import type { NodeCallOptions } from './places.ts'
import { drivingCalls } from './run-calls.ts'
import type { Caller, Service } from './service.ts'

export function createNodeService(host: Host, options: NodeCallOptions): Service {
  const calls = new Map<string, unknown>(Object.entries({ ...drivingCalls(host), ...nodeCalls(host, options) }))
  const feeds = new Map<string, unknown>(Object.entries(nodeFeeds(host, options)))
  return {
    call: async (name, input, caller, signal = new AbortController().signal) =>
      handlerOf(calls, name)(input, { ...EVERYTHING, actor: actorOf(caller), signal }),
    feed: async (name, input, caller, signal) =>
      handlerOf(feeds, name)(input, { ...EVERYTHING, actor: actorOf(caller), signal }) as ReturnType<Service['feed']>,
  }
}

const EVERYTHING: Pick<Asked, 'onlyLooks' | 'read' | 'see'> = {
  onlyLooks: false,
  read: (work) => work(),
  see: (item) => item,
}

type Handler = (input: unknown, asked: Asked) => unknown

function handlerOf(all: ReadonlyMap<string, unknown>, name: string): Handler {
  const found = all.get(name)
  if (found !== undefined) return found as Handler
  throw new NerveError('not-found', `${name} is not about nodes: it cannot be asked here.`)
}

function actorOf({ by, via }: Caller): Actor {
  return { ...(by === undefined ? {} : { by }), ...(via === undefined ? {} : { via }) }
}
