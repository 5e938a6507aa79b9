/** What can be asked about sessions and nodes. */
import { z } from 'zod'
import { command, feed, query } from './entry.ts'
import {
  catalogEntry,
  count,
  done,
  historyEntry,
  live,
  name,
  nodeInfo,
  none,
  runEvent,
  time,
  value,
} from './schemas.ts'

const node = {
  node: name.describe('the name of a node or definition of a session'),
  session: name.optional().describe('its session, when several have one of this name'),
}
const used = z.strictObject({ session: z.string(), node: z.string() })

export const NODES = {
  'sessions.list': query({
    summary: 'List the sessions of the project',
    input: none,
    output: z.array(
      z.looseObject({
        name: z.string(),
        tags: z.array(z.string()),
        created: time.optional().describe('missing when it was never opened'),
        open: z.boolean(),
        members: count,
        planned: z.boolean().describe('nerve.config says it'),
      }),
    ),
  }),
  'sessions.get': query({
    summary: 'Show what is in a session',
    input: z.strictObject({ session: name }),
    output: z.looseObject({
      name: z.string(),
      tags: z.array(z.string()),
      created: time.optional().describe('missing when it was never opened'),
      open: z.boolean(),
      members: z.array(z.looseObject({ name: z.string(), kind: z.string() })),
    }),
  }),
  'sessions.create': command({
    summary: 'Make a session with nothing in it',
    input: z.strictObject({ session: name, tags: z.array(name).max(100).optional() }),
    output: z.strictObject({ session: z.string() }),
  }),
  'sessions.close': command({
    summary: 'Stop every node of a session; what is recorded of it stays',
    input: z.strictObject({ session: name }),
    output: z.looseObject({
      stopped: z.array(z.string()),
      ended: z.array(z.string()).describe('what lived until then'),
    }),
  }),
  'sessions.remove': command({
    // Who could not make its nodes again should not remove them.
    local: true,
    summary: 'Stop every node of a session, and forget it. Histories stay',
    input: z.strictObject({ session: name }),
    output: z.looseObject({ ok: z.literal(true), ended: z.array(z.string()).describe('what lived until then') }),
  }),
  'nodes.list': query({
    summary: 'List the nodes and definitions of all sessions',
    input: z.strictObject({ session: name.optional() }),
    output: z.array(catalogEntry),
  }),
  'nodes.get': query({
    summary: 'Show a node: its kind, state, abilities and configuration, without secrets',
    input: z.strictObject(node),
    output: z.looseObject({
      name: z.string(),
      session: z.string(),
      kind: z.string(),
      info: nodeInfo.optional().describe('missing for definitions'),
      problem: z.string().optional().describe('why there is no info: it cannot be made again as it is recorded'),
    }),
  }),
  'nodes.kinds': query({
    summary: 'The kinds of nodes that can be created',
    input: none,
    output: z.array(z.string()),
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
  'nodes.watch': feed({
    summary: 'What a terminal prints, as live parts, from now on until it stops',
    input: z.strictObject(node),
    output: live,
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
    summary: 'Read what a terminal has printed since it was last read, its last lines, or its screen',
    input: z.strictObject({ ...node, tail: count.optional(), screen: z.boolean().optional() }),
    output: z.looseObject({ text: z.string() }),
  }),
  'nodes.interrupt': command({
    summary: 'Ctrl-C: stop what a node is doing',
    input: z.strictObject(node),
    output: used,
  }),
  'nodes.start': command({
    summary: 'Start a node, also one that was stopped. Does nothing when it is ready',
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
