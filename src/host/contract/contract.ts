/**
 * The one contract: everything that can be asked of a host, as data. From this table follow the routes, the line protocol,
 * the typed client, the OpenAPI document, tools for models and commands for people.
 *
 * Nothing in it carries code: what runs is named, and was registered by whoever started the host.
 */
import { z } from 'zod'
import { STATUSES, shape } from './schemas.ts'
import type { Scope } from './scopes.ts'

interface Entry<Kind extends 'command' | 'query' | 'feed', Input extends z.ZodType, Output extends z.ZodType> {
  readonly kind: Kind
  readonly scope: Scope
  readonly summary: string
  readonly input: Input
  readonly output: Output
  /** Only for callers who could do it without Nerve: in this process, or through a socket that only the user can open. */
  readonly local?: true
}

type Said<Input, Output> = Omit<Entry<'query', Input & z.ZodType, Output & z.ZodType>, 'kind' | 'scope'>

/** Changes something. */
function command<Input extends z.ZodType, Output extends z.ZodType>(
  said: Said<Input, Output> & { readonly scope?: Scope },
): Entry<'command', Input, Output> {
  return { kind: 'command', scope: 'control', ...said }
}

/** Only looks. */
function query<Input extends z.ZodType, Output extends z.ZodType>(
  said: Said<Input, Output>,
): Entry<'query', Input, Output> {
  return { kind: 'query', scope: 'read', ...said }
}

/** Gives one thing after the other. One that needs more than `read` starts what it tells of. */
function feed<Input extends z.ZodType, Output extends z.ZodType>(
  said: Said<Input, Output> & { readonly scope?: Scope },
): Entry<'feed', Input, Output> {
  return { kind: 'feed', scope: 'read', ...said }
}

const {
  budget,
  catalogEntry,
  count,
  cursor,
  definition,
  end,
  gateway,
  historyEntry,
  inboxRow,
  live,
  name,
  outline,
  run,
  runEvent,
  runRow,
  time,
  usage,
  value,
} = shape

const none = z.strictObject({})
const ofRun = z.strictObject({ run })
const done = z.strictObject({ ok: z.literal(true) })
const params = z.record(z.string(), value)
const node = {
  node: name.describe('the name of a node or definition of a session'),
  session: name.optional().describe('its session, when several have one of this name'),
}
const used = z.strictObject({ session: z.string(), node: z.string() })

const start = z.strictObject({
  definition: name,
  input: value.optional(),
  params: params.optional(),
  budget: budget.optional(),
  durability: z.enum(['process', 'power']).optional(),
})

const RUNS = {
  'runs.start': command({
    summary: 'Start a run of a registered definition',
    input: start,
    output: z.strictObject({ run: z.string() }),
  }),
  'runs.stream': feed({
    scope: 'control',
    summary: 'Start a run, and tell all that happens in it from the first moment on, also live parts',
    input: start,
    output: z.union([runEvent, live]),
  }),
  'runs.list': query({
    summary: 'List runs, the newest first',
    input: z.strictObject({
      status: z.array(z.enum(STATUSES)).optional(),
      definition: name.optional(),
      root: run.optional().describe('only the tree of this run'),
      children: z.boolean().optional().describe('also runs that a run started'),
      limit: count.optional(),
    }),
    output: z.array(runRow),
  }),
  'runs.get': query({ summary: 'Show a run', input: ofRun, output: runRow }),
  'runs.journal': query({
    summary: 'Read the events of a run',
    input: z.strictObject({ run, after: count.optional(), limit: count.max(10_000).optional() }),
    output: z.array(runEvent),
  }),
  'runs.wait': query({
    summary: 'Wait until a run ends, or only until it rests, and tell how it stands',
    input: z.strictObject({
      run,
      until: z.enum(['end', 'rest']).optional().describe('rest: also when it waits for a person, a time or a signal'),
      timeout: z.int().min(0).max(600_000).optional().describe('milliseconds (default 30,000)'),
    }),
    output: end,
  }),
  'runs.pause': command({ summary: 'Pause a run', input: ofRun, output: done }),
  'runs.resume': command({
    summary: 'Resume a run that is paused, has spent its budget, or was left by a crash',
    input: z.strictObject({
      run,
      budget: budget.optional(),
      accept: z.boolean().optional().describe('go on over changed code as the plan says'),
      from: z.string().optional().describe('forget what is recorded from this path on'),
    }),
    output: done,
  }),
  'runs.interrupt': command({
    summary: 'Stop the steps that run now; the run goes on with what it does about that',
    input: z.strictObject({ run, path: z.string().optional() }),
    output: done,
  }),
  'runs.cancel': command({
    summary: 'Cancel a run and its children',
    input: z.strictObject({ run, reason: z.string().max(10_000).optional() }),
    output: done,
  }),
  'runs.fork': command({
    summary: 'Start a new run that shares what a run did before a place',
    input: z.strictObject({
      run,
      at: z.union([z.string(), count]).optional(),
      set: params.optional().describe('results to put in the place of recorded ones, by path'),
      input: value.optional(),
      params: params.optional(),
    }),
    output: z.strictObject({ run: z.string() }),
  }),
  'runs.replay': query({
    summary: 'Run the current code over a recorded run, with no effects, and tell where they differ',
    input: ofRun,
    output: z.looseObject({
      same: z.boolean(),
      plan: z.looseObject({ keep: count, rerun: z.array(z.string()), unknown: z.array(z.string()) }),
      started: z.array(z.string()),
      problems: z.array(z.string()),
    }),
  }),
} as const

const PEOPLE = {
  'questions.list': query({
    summary: 'List the open questions, the oldest first',
    input: none,
    output: z.array(inboxRow),
  }),
  'questions.answer': command({
    scope: 'answer',
    summary: 'Answer a question',
    input: z.strictObject({ question: z.string().min(1).max(300), value }),
    output: done,
  }),
  'signals.send': command({
    scope: 'answer',
    summary: 'Send a named value into a run',
    input: z.strictObject({ run, name, value: value.optional() }),
    output: done,
  }),
  events: feed({
    summary: 'Durable events as they happen, from a cursor on, of one run or of all; ends with the run',
    input: z.strictObject({
      run: run.optional(),
      after: cursor
        .optional()
        .describe('goes on after this: `0` is the beginning. Without: one run from its beginning, all runs from now'),
      type: z.string().max(200).optional().describe('a pattern: step-completed, question-*'),
      path: z.string().max(2_000).optional().describe('a pattern: review/**'),
      live: z.boolean().optional().describe('also live parts: text as it is written, terminal bytes'),
      once: z.boolean().optional().describe('end with what is there now'),
    }),
    output: z.union([runEvent, live]),
  }),
  usage: query({
    summary: 'What was spent, by one run or by all, and by definition',
    input: z.strictObject({ run: run.optional() }),
    output: z.strictObject({
      runs: count,
      usage,
      definitions: z.array(z.strictObject({ definition: z.string(), runs: count, usage })),
    }),
  }),
} as const

const NODES = {
  'sessions.list': query({
    summary: 'List the sessions of the project',
    input: none,
    output: z.array(
      z.looseObject({ name: z.string(), tags: z.array(z.string()), created: time, open: z.boolean(), members: count }),
    ),
  }),
  'sessions.get': query({
    summary: 'Show what is in a session',
    input: z.strictObject({ session: name }),
    output: z.looseObject({
      name: z.string(),
      open: z.boolean(),
      members: z.array(z.looseObject({ name: z.string(), kind: z.string() })),
    }),
  }),
  'sessions.close': command({
    summary: 'Stop every node of a session; what is recorded of it stays',
    input: z.strictObject({ session: name }),
    output: z.looseObject({ stopped: z.array(z.string()) }),
  }),
  'nodes.list': query({
    summary: 'List the nodes and definitions of all sessions',
    input: z.strictObject({ session: name.optional() }),
    output: z.array(catalogEntry),
  }),
  'nodes.get': query({
    summary: 'Show a node: its kind, state, abilities and configuration, without secrets',
    input: z.strictObject(node),
    output: z.looseObject({ name: z.string(), session: z.string(), kind: z.string() }),
  }),
  'nodes.create': command({
    local: true,
    summary: 'Record a node in a session, by kind and fields. Nothing starts',
    input: z.strictObject({
      session: name.optional(),
      config: z.looseObject({ kind: name, id: name }),
    }),
    output: used,
  }),
  'nodes.remove': command({
    local: true,
    summary: 'Stop a node and take it out of its session',
    input: z.strictObject(node),
    output: done,
  }),
  'nodes.execute': command({
    summary: 'Execute a node in a run of its own, and give its result',
    input: z.strictObject({
      ...node,
      input: value.optional(),
      wait: z.boolean().optional().describe('false: give the run at once (default true)'),
    }),
    output: z.looseObject({ run: z.string(), output: value.optional() }),
  }),
  'nodes.stream': feed({
    scope: 'control',
    summary: 'Execute a node in a run of its own, and tell all that happens in it, also live parts',
    input: z.strictObject({ ...node, input: value.optional() }),
    output: z.union([runEvent, live]),
  }),
  'nodes.run': command({
    summary: 'Type a line into a terminal, and do not wait',
    input: z.strictObject({ ...node, line: z.string() }),
    output: used,
  }),
  'nodes.write': command({
    summary: 'Type exactly this into a terminal',
    input: z.strictObject({ ...node, text: z.string() }),
    output: used,
  }),
  'nodes.read': command({
    scope: 'read',
    summary: 'Read what a terminal shows: all that is kept of its output, its last lines, or its screen',
    input: z.strictObject({ ...node, tail: count.optional(), screen: z.boolean().optional() }),
    output: z.looseObject({ text: z.string() }),
  }),
  'nodes.interrupt': command({
    summary: 'Ctrl-C: stop what a node is doing',
    input: z.strictObject(node),
    output: used,
  }),
  'nodes.reset': command({ summary: 'Make a node as new', input: z.strictObject(node), output: used }),
  'nodes.stop': command({ summary: 'End a node, whatever it is doing', input: z.strictObject(node), output: used }),
  'nodes.fork': command({
    summary: 'Copy a node with its state',
    input: z.strictObject({ ...node, as: name.optional() }),
    output: used,
  }),
  'nodes.history': query({
    summary: 'Read what a node saw and did',
    input: z.strictObject({
      ...node,
      last: count.optional(),
      operation: z.array(z.enum(['send', 'stream', 'write', 'run', 'read', 'interrupt', 'close'])).optional(),
      since: time.optional(),
      inputsOnly: z.boolean().optional(),
    }),
    output: z.strictObject({ entries: z.array(historyEntry), unreadable: count }),
  }),
} as const

const HOST = {
  'definitions.list': query({ summary: 'List what can be started', input: none, output: z.array(definition) }),
  'definitions.explain': query({
    summary:
      'Show a definition: its options, its parts, a drawing, and what it takes as a JSON Schema where it says so',
    input: z.strictObject({ definition: name }),
    output: definition.extend({
      inputSchema: z.record(z.string(), value).optional(),
      params: params.optional(),
      budget: z.looseObject({}).optional(),
      errorPolicy: z.string(),
      durability: z.string(),
      outline,
      mermaid: z.string(),
    }),
  }),
  'definitions.validate': query({
    summary: 'Everything that is wrong with a definition, found without running it',
    input: z.strictObject({ definition: name }),
    output: z.strictObject({ ok: z.boolean(), problems: z.array(z.string()) }),
  }),
  'gateway.status': query({
    summary: 'The model gateways that run in the project',
    input: none,
    output: z.array(gateway),
  }),
  health: query({
    summary: 'Whether the host answers, and what it is doing',
    input: none,
    output: z.looseObject({
      ok: z.literal(true),
      version: z.string().optional(),
      host: z.string(),
      started: time,
      dir: z.string().optional(),
      open: count.describe('runs that have not ended'),
      questions: count,
    }),
  }),
  shutdown: command({
    summary: 'Stop the host: runs are parked and taken up by the next one',
    input: none,
    output: done,
  }),
} as const

export const contract = { ...RUNS, ...PEOPLE, ...NODES, ...HOST }

export type Contract = typeof contract
export type Name = keyof Contract
export type FeedName = { [One in Name]: Contract[One]['kind'] extends 'feed' ? One : never }[Name]
export type CallName = Exclude<Name, FeedName>

/** What a caller gives. */
export type Input<One extends Name> = z.input<Contract[One]['input']>
/** What a handler gets. */
export type Checked<One extends Name> = z.output<Contract[One]['input']>
export type Output<One extends Name> = z.output<Contract[One]['output']>

export function isName(text: string): text is Name {
  return Object.hasOwn(contract, text)
}

/** True when it may be asked for without changing anything. */
export function isSafe(one: Name): boolean {
  const { kind, scope } = contract[one]
  return kind === 'query' || (kind === 'feed' && scope === 'read')
}

export function isFeed(one: Name): one is FeedName {
  return contract[one].kind === 'feed'
}
