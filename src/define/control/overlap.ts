/** A persistent node does one thing at a time: parts that run beside each other must not share one. */
import { isNode } from '../../engine/run-node.ts'
import type { AnyRunnable, Names } from '../../engine/definition.ts'
import { persistentIn } from '../graph-steps.ts'
import type { Part } from './fit.ts'

export function sharedProblems(parts: Readonly<Record<string, Part>>, names: Names): string[] {
  const users = new Map<AnyRunnable, string>()
  const problems: string[] = []
  for (const [part, node] of Object.entries(parts)) {
    for (const used of persistentIn(node, names)) {
      const other = users.get(used)
      if (other === undefined) users.set(used, part)
      else
        problems.push(
          `branches '${other}' and '${part}' could use the persistent node '${nameOf(used)}' at the same time. Fork the node.`,
        )
    }
  }
  return problems
}

/** The same for items of a list, which all use one body. */
export function itemProblems(body: Part, concurrency: number, names: Names): string[] {
  if (concurrency === 1) return []
  return [...persistentIn(body, names)].map(
    (used) =>
      `several items could use the persistent node '${nameOf(used)}' at the same time. Give concurrency: 1, or fork the node.`,
  )
}

function nameOf(node: AnyRunnable): string {
  return isNode(node) ? node.id : node.name
}
