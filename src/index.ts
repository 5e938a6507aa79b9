/** The public door of Nerve. */
export { workflow } from './define/workflow.ts'
export { createHost } from './host/host.ts'
export type { Host, HostOptions, RunFilter, StartMore } from './host/host.ts'
export type { Handle, ResumeOptions } from './host/handle.ts'
export { NerveError, isNerveError } from './base/nerve-error.ts'
export type { ErrorCode, ErrorData, RetryHint } from './base/nerve-error.ts'
export type { Duration } from './base/duration.ts'
export type { Clock } from './base/clock.ts'
export type { Schema } from './base/schema.ts'
export type {
  AskOptions,
  Backoff,
  ChildOptions,
  Context,
  Definition,
  MapOptions,
  OnError,
  RunUsage,
  ScopeOptions,
  StepCall,
  StepOptions,
  WaitOptions,
  WorkflowOptions,
} from './engine/definition.ts'
export type { Heard, LivePart, RunEvent, Subscription } from './engine/bus.ts'
export type { FeedItem, FeedOptions, Gap } from './engine/feed.ts'
export type { ForkOptions } from './engine/fork.ts'
export type { Recovered } from './engine/recovery.ts'
export type { Replayed } from './engine/replay.ts'
export type {
  Actor,
  Budget,
  Durability,
  Effect,
  ErrorPolicy,
  JournalEvent,
  ResumePlan,
  RunStatus,
  ShownStatus,
  Usage,
} from './journal/events.ts'
export type { JournalStore, OpenQuestion } from './journal/port.ts'
export type { InboxRow, RunRow } from './host/api.ts'
