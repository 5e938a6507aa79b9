/** The shapes that go over the wire. What is a type elsewhere in the code is said here once more, for those who have no types. */
import { z } from 'zod'
import type { ErrorData } from '../../base/nerve-error.ts'
import type { Gap } from '../../engine/feed.ts'
import type { LivePart, RunEvent } from '../../engine/bus.ts'
import type { Outline } from '../../engine/definition.ts'
import type { Budget, Usage } from '../../journal/events.ts'
import { AUDIT_ACTIONS } from '../../projections/audit.ts'
import type { InboxRow, RunRow } from '../../projections/runs.ts'
import type { HistoryEntry } from '../history/history.ts'
import type { GatewayStatus } from '../gateway-api.ts'
import type { ManagedInfo } from '../sessions/managed-node.ts'
import type { CatalogEntry } from '../sessions/session-catalog.ts'
import type { AuditRow } from './audit-calls.ts'
import { LONGEST_CURSOR } from './place.ts'

/** A schema that says less than the type does. With a name it is one of the schemas of the OpenAPI document. */
function as<Value>(schema: z.ZodType, id?: string): z.ZodType<Value, Value> {
  return (id === undefined ? schema : schema.meta({ ...schema.meta(), id })) as z.ZodType<Value, Value>
}

export const time = z.number().describe('milliseconds since the epoch')
export const run = z.string().min(1).max(200).describe('the id of a run, or the beginning of it')
export const name = z.string().min(1).max(200)
export const value = z.unknown()
export const count = z.int().min(0)
export const params = z.record(z.string(), value)

export const STATUSES = [
  'queued',
  'running',
  'waiting',
  'paused',
  'exhausted',
  'crashed',
  'completed',
  'completed-with-failures',
  'failed',
  'cancelled',
] as const

export const budget = as<Budget>(
  z
    .strictObject({
      usd: z.number().optional(),
      tokens: z.number().optional(),
      calls: z.number().optional(),
      steps: z.number().optional(),
      seconds: z.number().optional(),
      depth: z.number().optional(),
    })
    .describe('what a run tree may spend'),
  'Budget',
)

export const usage = as<Usage>(
  z.looseObject({
    usd: z.number().optional(),
    tokens: z.number().optional(),
    calls: z.number().optional(),
    steps: z.number().optional(),
    seconds: z.number().optional(),
  }),
  'Usage',
)

const question = z.looseObject({
  id: z.string(),
  path: z.string(),
  kind: z.enum(['ask', 'gate', 'permission', 'recovery', 'review']),
  prompt: z.string(),
  choices: z.array(z.string()).optional(),
  schema: z.boolean().optional().describe('a free answer has to fit a schema that the run knows'),
  free: z.record(z.string(), z.unknown()).optional().describe('what is taken beside the choices, as a JSON Schema'),
  deadline: time.optional(),
  detail: value.optional(),
  asked: time,
})

export const runRow = as<RunRow>(
  z.looseObject({
    run: z.string(),
    definition: z.string(),
    status: z.enum(STATUSES),
    created: time,
    updated: time,
    ended: time.optional(),
    wake: time.optional().describe('when it goes on by itself'),
    root: z.string(),
    parent: z.string().optional(),
    forkedFrom: z.string().optional(),
    source: z.string().optional(),
    owner: z.string().optional().describe('the host that drives it now'),
    steps: count,
    failures: count,
    usage,
    budget: budget.optional(),
    questions: z.array(question),
    signals: z.array(z.string()),
    error: z.string().optional(),
  }),
  'Run',
)

export const runEvent = as<RunEvent>(
  z
    .looseObject({ type: z.string(), run: z.string(), seq: count, time, path: z.string().optional() })
    .describe('a durable event: docs/journal-format.md has all of them'),
  'RunEvent',
)

/** Where a feed goes on. Of one run: the number of its last event. Of all runs: text that means something to Nerve alone. */
export const cursor = z.string().max(LONGEST_CURSOR)

export const live = z.union([
  as<LivePart>(
    z.looseObject({
      live: z.literal(true),
      type: z.string(),
      run: z.string(),
      path: z.string(),
      data: value.optional(),
    }),
    'LivePart',
  ),
  as<Gap | { readonly live: true; readonly type: 'gap'; readonly run: string }>(
    z
      .looseObject({ live: z.literal(true), type: z.literal('gap'), run: z.string(), dropped: count.optional() })
      .describe('live parts are missing here: so many, or unknown how many'),
    'Gap',
  ),
])

export const inboxRow = as<InboxRow>(question.extend({ run: z.string(), definition: z.string() }), 'Question')

export const end = z.looseObject({
  run: z.string(),
  status: z.enum(STATUSES),
  ended: z.boolean(),
  output: value.optional(),
  error: as<ErrorData>(
    z.looseObject({ name: z.string(), message: z.string(), code: z.string().optional(), data: params.optional() }),
    'ErrorData',
  ).optional(),
})

export const catalogEntry = as<CatalogEntry>(
  z.looseObject({
    name: z.string(),
    session: z.string(),
    type: z.enum(['node', 'definition']),
    kind: z.string(),
    planned: z.boolean(),
  }),
  'Node',
)

export const nodeInfo = as<ManagedInfo>(
  z.looseObject({
    id: z.string(),
    kind: z.string(),
    persistent: z.boolean(),
    abilities: z.array(z.string()),
    state: z.enum(['created', 'starting', 'ready', 'busy', 'stopping', 'stopped', 'error']),
  }),
  'NodeInfo',
)

export const definition = z.object({
  name: z.string(),
  kind: z.string(),
  description: z.string().optional(),
  source: z.string().optional().describe('the file that it is in; what the host brings along is in none'),
})

export const outline = as<Outline>(z.looseObject({ id: z.string(), kind: z.string() }), 'Outline')

export const historyEntry = as<HistoryEntry>(
  z.looseObject({
    seq: count,
    time,
    operation: z.string(),
    input: value.optional(),
    of: count.optional(),
    output: value.optional(),
    buffer: z.string().optional(),
    ms: z.number().optional(),
    run: z.string().optional(),
    path: z.string().optional(),
  }),
  'HistoryEntry',
)

export const gateway = as<GatewayStatus>(z.looseObject({ url: z.string(), open: count.optional() }), 'Gateway')

export const auditRow = as<AuditRow>(
  z.looseObject({
    id: z.string(),
    time,
    run: z.string(),
    definition: z.string(),
    action: z.enum(AUDIT_ACTIONS),
    by: z.string().optional(),
    via: z.string().optional(),
    question: z.string().optional(),
    prompt: z.string().optional(),
    signal: z.string().optional(),
    value: z.string().optional().describe('the beginning of its text, without secrets'),
  }),
  'AuditEntry',
)

export const none = z.strictObject({})
export const ofRun = z.strictObject({ run })
export const done = z.strictObject({ ok: z.literal(true) })
