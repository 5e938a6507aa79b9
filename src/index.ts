/** The main door of Nerve. What only some need has doors of its own, so that this one opens fast. */
export { workflow } from './define/workflow.ts'
export { defineNode } from './define/node.ts'
export type { NodeOptions } from './define/node.ts'
export { createRegistry } from './host/registry.ts'
export type { Registry } from './host/registry.ts'
export { createHost } from './host/host.ts'
export type { Host, HostOptions, StartMore } from './host/host.ts'
export type { RunFilter } from './host/list-runs.ts'
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
  AddedStep,
  InputOf,
  MapOptions,
  Names,
  Node,
  NodeInfo,
  OnError,
  Outline,
  OutputOf,
  Policy,
  RaceOptions,
  RunOptions,
  Runnable,
  RunningGraph,
  RunUsage,
  ScopeOptions,
  ParkOptions,
  StepAskOptions,
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
