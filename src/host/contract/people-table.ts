/** What can be asked about questions, signals, events, usage, and who did what. */
import { z } from 'zod'
import { command, feed, query } from './entry.ts'
import { auditRow, count, cursor, done, inboxRow, live, name, none, run, runEvent, usage, value } from './schemas.ts'

export const PEOPLE = {
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
  audit: query({
    summary:
      'Who started, answered, signalled, paused, resumed, interrupted, cancelled or forked what, the newest first',
    input: z.strictObject({
      run: run.optional().describe('only this run, and what it started'),
      limit: count.min(1).max(1_000).optional().describe('how many (default 100)'),
      after: z.string().max(300).optional().describe('the id of an entry: go on with those that are older'),
    }),
    output: z.array(auditRow),
  }),
} as const
