/** Something else that a host serves at a path of its own, after the same checks as everything. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Visitor } from './doorkeeper.ts'

/** A request of somebody who was let in. */
export interface Visit {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly visitor: Visitor
  /** The JSON that came with it, within the limits of the server. */
  readonly body: () => Promise<unknown>
  /** How long a client that does not read is waited for, in ms. */
  readonly patience: number | undefined
}

export interface Mount {
  /** What it throws is told as every other error is. */
  answer(visit: Visit): Promise<void>
  /** The server ends. */
  close(): Promise<void>
}

/** By the path, which begins with a slash. */
export type Mounts = Readonly<Record<string, Mount>>

export function mountAt(mounts: Mounts | undefined, path: string): Mount | undefined {
  return mounts !== undefined && Object.hasOwn(mounts, path) ? mounts[path] : undefined
}
