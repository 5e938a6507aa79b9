import type { Input, Output } from '../../host/contract/contract.ts'
import type { CallOptions, ClientParts } from './client.ts'
import { clientRun } from './client-run.ts'
import type { EventItem, FollowOptions } from './events.ts'
import { feedItems } from './feeds.ts'

export interface NodeRef {
  readonly node: string
  readonly session?: string
}

/** A node of a session, wherever it lives. */
export interface ClientNode {
  readonly name: string
  info(): Promise<Output<'nodes.get'>>
  /** Executes it in a run of its own, and gives what it returns. */
  execute<Result = unknown>(input?: unknown, options?: CallOptions): Promise<Result>
  /** The same, with everything that happens on the way: events and live parts. */
  stream(input?: unknown, options?: FollowOptions): AsyncIterable<EventItem>
  /** For terminals. */
  run(line: string): Promise<void>
  write(text: string): Promise<void>
  read(options?: { readonly tail?: number; readonly screen?: boolean }): Promise<string>
  /** What it prints, as live parts, from now on until it stops. */
  watch(options?: CallOptions): AsyncIterable<EventItem>
  interrupt(): Promise<void>
  /** Starts it, also when it was stopped. */
  start(): Promise<void>
  reset(): Promise<void>
  stop(): Promise<void>
  /** Copies it with its state. */
  fork(as?: string): Promise<ClientNode>
  history(filter?: Omit<Input<'nodes.history'>, 'node' | 'session'>): Promise<Output<'nodes.history'>>
}

export function clientNode(parts: ClientParts, of: NodeRef): ClientNode {
  const { call, connection } = parts
  const begin = async (input: unknown, options: CallOptions): Promise<string> =>
    (await call('nodes.execute', { ...of, wait: false, ...(input === undefined ? {} : { input }) }, options)).run
  return {
    name: of.node,
    info: () => call('nodes.get', of),
    // In two steps, because a connection may be lost before the node is done.
    execute: async <Result>(input?: unknown, options: CallOptions = {}) =>
      clientRun<Result>(parts, await begin(input, options)).result(options),
    stream: (input, options = {}) =>
      feedItems(connection, {
        name: 'nodes.stream',
        input: { ...of, ...(input === undefined ? {} : { input }) },
        options,
      }),
    run: async (line) => void (await call('nodes.run', { ...of, line })),
    write: async (text) => void (await call('nodes.write', { ...of, text })),
    read: async (options = {}) => (await call('nodes.read', { ...of, ...options })).text,
    watch: (options = {}) => feedItems(connection, { name: 'nodes.watch', input: of, options }),
    interrupt: async () => void (await call('nodes.interrupt', of)),
    start: async () => void (await call('nodes.start', of)),
    reset: async () => void (await call('nodes.reset', of)),
    stop: async () => void (await call('nodes.stop', of)),
    fork: async (as) => {
      const { session, node } = await call('nodes.fork', { ...of, ...(as === undefined ? {} : { as }) })
      return clientNode(parts, { session, node })
    },
    history: (filter = {}) => call('nodes.history', { ...of, ...filter }),
  }
}
