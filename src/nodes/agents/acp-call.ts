/** A call of a tool, as agents tell of it over ACP: in several pieces, of which none needs to have all. */
import type { ToolKind } from './adapter.ts'

export interface AcpCall {
  readonly toolCallId: string
  readonly title?: string
  readonly kind?: string
  readonly name?: string
  readonly status?: string
  readonly rawInput?: unknown
  readonly rawOutput?: unknown
  readonly content?: unknown
  readonly locations?: unknown
}

/** What is known of a call with the next piece: what that leaves out, or leaves empty, holds as it was said before. */
export function withPiece(known: AcpCall | undefined, piece: AcpCall): AcpCall {
  return { ...known, ...Object.fromEntries(Object.entries(piece).filter(([, value]) => !isEmpty(value))) } as AcpCall
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

/**
 * What rules and people look at. Some agents tell no input: then it is the title, and what would be done. The files that it is
 * about may be told beside it.
 */
export function inputOf({ title, rawInput, content, locations }: AcpCall, kind: ToolKind): unknown {
  const told = rawInput ?? {
    ...(kind === 'shell' ? { command: title } : { title }),
    ...(isEmpty(content) ? {} : { content }),
  }
  if (typeof told !== 'object' || (kind !== 'edit' && kind !== 'read')) return told
  const paths = [...new Set([...pathsIn(content), ...pathsIn(locations)])]
  return paths.length === 0 ? told : { ...told, paths }
}

function pathsIn(list: unknown): readonly string[] {
  const all = Array.isArray(list) ? (list as readonly unknown[]) : []
  return all.flatMap((one) => {
    const { path } = (one ?? {}) as { readonly path?: unknown }
    return typeof path === 'string' ? [path] : []
  })
}
