import type { AnyDefinition, AnyRunnable } from '../engine/definition.ts'
import { isNode } from '../engine/run-node.ts'

/** What a definition refers to by name, at any depth. */
export function namedIn(
  definition: AnyDefinition,
  found = new Set<string>(),
  seen = new Set<AnyRunnable>(),
): ReadonlySet<string> {
  if (seen.has(definition)) return found
  seen.add(definition)
  for (const one of definition.inner?.() ?? []) {
    if (typeof one === 'string') found.add(one)
    else if (!isNode(one)) namedIn(one, found, seen)
  }
  return found
}
