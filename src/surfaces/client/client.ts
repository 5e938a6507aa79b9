/** The client of a host: the contract as methods, over whatever connection. */
import type { CallName, FeedName, Input, Output } from '../../host/contract/contract.ts'
import { clientNode, type ClientNode } from './client-node.ts'
import { clientRun, type ClientRun } from './client-run.ts'
import { unlessOver, type Connection } from './connection.ts'
import { deliveries, itemsOf, patiently, type EventItem, type EventOptions, type FollowOptions } from './events.ts'
import { feedItems } from './feeds.ts'

export interface CallOptions {
  readonly signal?: AbortSignal
}

export type Question = Output<'questions.list'>[number]

export interface Client {
  /** Anything of the contract, by its name. */
  call<One extends CallName>(name: One, input: Input<One>, options?: CallOptions): Promise<Output<One>>
  /** Any feed of the contract, by its name. Events, and what is started, go on by themselves after a lost connection. */
  feed<One extends FeedName>(name: One, input: Input<One>, options?: FollowOptions): AsyncIterable<EventItem>
  readonly runs: {
    /** Starts a run of a definition that the host knows by this name. */
    start<Result = unknown>(definition: string, input?: unknown, options?: StartOptions): Promise<ClientRun<Result>>
    /** The same, with everything that happens in it from the first moment on: events and live parts. */
    stream(definition: string, input?: unknown, options?: StartOptions & FollowOptions): AsyncIterable<EventItem>
    list(filter?: Input<'runs.list'>): Promise<Output<'runs.list'>>
    get(run: string): Promise<Output<'runs.get'>>
    /** Puts an exported run into the store of the host. Starts nothing. */
    import(text: string): Promise<ClientRun>
    /** Removes runs that ended longer ago than this (`30d`), and gives their ids. */
    remove(options: Input<'runs.remove'>): Promise<readonly string[]>
  }
  /** A run by its id. Asks nothing yet. */
  run<Result = unknown>(id: string): ClientRun<Result>
  readonly questions: {
    list(): Promise<readonly Question[]>
    answer(question: string, value: unknown): Promise<void>
    /** Every open question, and every one that is asked from now on. */
    watch(options?: CallOptions): AsyncIterable<Question>
  }
  /** Events of one run or of all. Goes on by itself after a lost connection, without loss and without doubles. */
  events(wanted?: EventOptions): AsyncIterable<EventItem>
  /** A node of a session by its name. Asks nothing yet. */
  node(name: string, options?: { readonly session?: string }): ClientNode
  definitions(): Promise<Output<'definitions.list'>>
  health(): Promise<Output<'health'>>
  close(): Promise<void>
}

export type StartOptions = Omit<Input<'runs.start'>, 'definition' | 'input'>

export function createClient(connection: Connection): Client {
  const call: Client['call'] = async (name, input, { signal } = {}) => {
    // Nobody wants it any more: to send it would be to have it done.
    signal?.throwIfAborted()
    return (await unlessOver(connection.call(name, input, signal), signal, connection)) as Output<typeof name>
  }
  const parts = { connection, call }
  const feed: Client['feed'] = (name, input, options = {}) => feedItems(connection, { name, input, options })
  return {
    call,
    feed,
    runs: {
      start: async <Result>(definition: string, input?: unknown, options: StartOptions = {}) => {
        const { run } = await call('runs.start', { ...options, definition, ...(input === undefined ? {} : { input }) })
        return clientRun<Result>(parts, run)
      },
      stream: (definition, input, { signal, onCursor, onLost, ...more } = {}) =>
        feed(
          'runs.stream',
          { ...more, definition, ...(input === undefined ? {} : { input }) },
          { ...(signal && { signal }), ...(onCursor && { onCursor }), ...(onLost && { onLost }) },
        ),
      list: (filter = {}) => call('runs.list', filter),
      get: (run) => call('runs.get', { run }),
      import: async (text) => clientRun(parts, (await call('runs.import', { text })).run),
      remove: async (options) => (await call('runs.remove', options)).removed,
    },
    run: (id) => clientRun(parts, id),
    questions: {
      list: () => call('questions.list', {}),
      answer: async (question, value) => void (await call('questions.answer', { question, value })),
      watch: (options = {}) => watchQuestions(parts, options.signal),
    },
    events: (wanted = {}) => itemsOf(connection, wanted),
    node: (name, options = {}) => clientNode(parts, { node: name, ...options }),
    definitions: () => call('definitions.list', {}),
    health: () => call('health', {}),
    close: () => connection.close(),
  }
}

export interface ClientParts {
  readonly connection: Connection
  readonly call: Client['call']
}

async function* watchQuestions({ connection, call }: ClientParts, signal?: AbortSignal): AsyncGenerator<Question> {
  const told = new Set<string>()
  const until = signal === undefined ? {} : { signal }
  const over = signal === undefined ? connection.closed : AbortSignal.any([signal, connection.closed])
  let first = true
  try {
    for await (const { item } of deliveries(connection, { type: 'question-asked', ...until })) {
      // The first thing that a feed of all runs gives is its place: from then on nothing is missed.
      const isNews = first || (item !== undefined && 'id' in item && !told.has(item.id))
      const open = isNews ? await patiently(over, () => call('questions.list', {}, until)) : []
      first = false
      for (const question of open) {
        if (told.has(question.id)) continue
        told.add(question.id)
        yield question
      }
    }
  } catch (error) {
    // Also in the middle of a list, somebody who stops is done.
    if (signal?.aborted !== true && !connection.closed.aborted) throw error
  }
}
