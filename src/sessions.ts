/** The door to sessions: what owns nodes, graphs and workflows, and their lifecycle and history. */
export { createSession } from './host/sessions/session.ts'
export type {
  Session,
  SessionEntry,
  SessionInfo,
  SessionItem,
  SessionMember,
  SessionOptions,
  SessionPlan,
  Stopped,
} from './host/sessions/session.ts'
export { createSessionManager } from './host/sessions/session-manager.ts'
export type { SessionManager, SessionManagerOptions, SessionSummary } from './host/sessions/session-manager.ts'
export type { RestoreOptions } from './host/sessions/restored-members.ts'
export type { MemberRecord, SessionRecord } from './host/sessions/session-store.ts'
export { ManagedNode } from './host/sessions/managed-node.ts'
export type { ManagedInfo, ManageOptions, NodeState, NodeUse, StateChange } from './host/sessions/managed-node.ts'
export { createNodeFactory } from './host/sessions/node-factory.ts'
export { nodeFactory } from './host/sessions/node-kinds.ts'
export type { KindOptions, NodeConfig, NodeFactory, NodeFields, RecordedConfig } from './host/sessions/node-factory.ts'
export type { ForkTree, Lineage } from './host/sessions/lineage.ts'
export { nodeHistory } from './host/history/history-reader.ts'
export type { HistoryFilter, HistoryOf, HistoryRead } from './host/history/history-reader.ts'
export type { HistoryEntry, HistoryLine, HistoryOperation } from './host/history/history.ts'
export type { HistorySink } from './host/history/recorder.ts'
export { createRedactor } from './base/redact.ts'
export type { Redactor, RedactorOptions } from './base/redact.ts'
