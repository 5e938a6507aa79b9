/** The shapes that go over the wire. What is a type elsewhere in the code is said here once more, for those who have no types. */
import { z } from 'zod'
import type { ErrorData } from '../../base/nerve-error.ts'
import type { Gap } from '../../engine/feed.ts'
import type { LivePart, RunEvent } from '../../engine/bus.ts'
import type { Outline } from '../../engine/definition.ts'
import type { Budget, Usage } from '../../journal/events.ts'
import type { InboxRow, RunRow } from '../../projections/runs.ts'
import type { HistoryEntry } from '../history/history.ts'
import type { GatewayStatus } from '../gateway-api.ts'
import type { CatalogEntry } from '../sessions/session-catalog.ts'

/** A schema that says less than the type does. */
function as<Value>(schema: z.ZodType): z.ZodType<Value, Value> {
  return schema as z.ZodType<Value, Value>
}

const time = z.number().describe('milliseconds since the epoch')
const run = z.string().min(1).max(200).describe('the id of a run, or the beginning of it')
const name = z.string().min(1).max(200)
const value = z.unknown()
const count = z.int().min(0)

export const STATUSES = [
  'queued',
  'running',
  'waiting',
  'paused',
  'exhausted',
  'completed',
  'completed-with-failures',
  'failed',
  'cancelled',
] as const

const budget = as<Budget>(
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
)

const usage = as<Usage>(
  z.looseObject({
    usd: z.number().optional(),
    tokens: z.number().optional(),
    calls: z.number().optional(),
    steps: z.number().optional(),
    seconds: z.number().optional(),
  }),
)

const question = z.looseObject({
  id: z.string(),
  path: z.string(),
  kind: z.enum(['ask', 'gate', 'permission', 'recovery', 'review']),
  prompt: z.string(),
  choices: z.array(z.string()).optional(),
  asked: time,
})

const runRow = as<RunRow>(
  z.looseObject({
    run: z.string(),
    definition: z.string(),
    status: z.enum([...STATUSES, 'crashed']),
    created: time,
    updated: time,
    ended: time.optional(),
    root: z.string(),
    steps: count,
    failures: count,
    usage,
    questions: z.array(question),
    signals: z.array(z.string()),
    error: z.string().optional(),
  }),
)

const runEvent = as<RunEvent>(
  z
    .looseObject({ type: z.string(), run: z.string(), seq: count, time, path: z.string().optional() })
    .describe('a durable event: docs/journal-format.md has all of them'),
)

/** Where a feed goes on. Of one run: the number of its last event. Of all runs: text that means something to Nerve alone. */
const cursor = z.string().max(65_536)

const live = z.union([
  as<LivePart>(z.looseObject({ live: z.literal(true), type: z.string(), run: z.string(), path: z.string() })),
  as<Gap | { readonly live: true; readonly type: 'gap'; readonly run: string }>(
    z
      .looseObject({ live: z.literal(true), type: z.literal('gap'), run: z.string(), dropped: count.optional() })
      .describe('live parts are missing here: so many, or unknown how many'),
  ),
])

const inboxRow = as<InboxRow>(question.extend({ run: z.string(), definition: z.string() }))

const end = z.looseObject({
  run: z.string(),
  status: z.enum([...STATUSES, 'crashed']),
  ended: z.boolean(),
  output: value.optional(),
  error: as<ErrorData>(
    z.looseObject({ name: z.string(), message: z.string(), code: z.string().optional() }),
  ).optional(),
})

const catalogEntry = as<CatalogEntry>(
  z.looseObject({
    name: z.string(),
    session: z.string(),
    type: z.enum(['node', 'definition']),
    kind: z.string(),
    planned: z.boolean(),
  }),
)

const definition = z.object({
  name: z.string(),
  kind: z.string(),
  description: z.string().optional(),
})

const outline = as<Outline>(z.looseObject({ id: z.string(), kind: z.string() }))

const historyEntry = as<HistoryEntry>(z.looseObject({ seq: count, time, operation: z.string() }))

const gateway = as<GatewayStatus>(z.looseObject({ url: z.string(), open: count.optional() }))

export const shape = {
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
}
