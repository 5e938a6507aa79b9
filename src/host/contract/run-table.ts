/** What can be asked about runs. */
import { z } from 'zod'
import { command, feed, query } from './entry.ts'
import {
  budget,
  count,
  done,
  end,
  live,
  name,
  ofRun,
  params,
  run,
  runEvent,
  runRow,
  STATUSES,
  value,
} from './schemas.ts'

const start = z.strictObject({
  definition: name.optional().describe('its name; with a file, the one of this name in it (default: the first)'),
  file: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe('the path of a file that has it, on the machine of the host. Only on the unix socket'),
  input: value.optional(),
  params: params.optional(),
  budget: budget.optional(),
  durability: z.enum(['process', 'power']).optional(),
})

const plan = z.looseObject({ keep: count, rerun: z.array(z.string()), unknown: z.array(z.string()) })

export const RUNS = {
  'runs.start': command({
    summary: 'Start a run of a definition, by its name',
    input: start,
    localFields: ['file'],
    output: z.strictObject({ run: z.string() }),
  }),
  'runs.stream': feed({
    scope: 'control',
    summary: 'Start a run, and tell all that happens in it from the first moment on, also live parts',
    input: start,
    localFields: ['file'],
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
  'runs.plan': query({
    summary: 'What resume would do over the current code: what is kept, what runs again, what is not known',
    input: ofRun,
    output: plan,
  }),
  'runs.replay': query({
    summary: 'Run the current code over a recorded run, with no effects, and tell where they differ',
    input: ofRun,
    output: z.looseObject({
      same: z.boolean(),
      plan,
      started: z.array(z.string()),
      problems: z.array(z.string()),
    }),
  }),
  'runs.export': query({
    summary: 'A run and its children as text, one line of JSON for each event',
    input: ofRun,
    output: z.strictObject({ run: z.string(), text: z.string() }),
  }),
  'runs.import': command({
    // A journal names the file of its definition, which is loaded when it is resumed.
    local: true,
    summary: 'Put an exported run into the store. Nothing starts: a run that had not ended is paused',
    input: z.strictObject({ text: z.string().min(1) }),
    output: z.strictObject({ run: z.string(), status: z.string() }),
  }),
  'runs.remove': command({
    summary: 'Remove the runs that ended longer ago than this, with their children',
    input: z.strictObject({ olderThan: z.union([z.string().max(40), count]).describe('30d, or milliseconds') }),
    output: z.strictObject({ removed: z.array(z.string()) }),
  }),
} as const
