import type { Checkpoint, Saver } from '../../define/state/checkpoint.ts'
import { infoOf, inOrder } from './checkpoint-files.ts'

/** Keeps checkpoints in this process, for tests and for looking around. */
export function memorySaver(): Saver {
  const runs = new Map<string, Map<string, Checkpoint>>()
  return {
    async save(checkpoint) {
      const known = runs.get(checkpoint.run) ?? new Map<string, Checkpoint>()
      runs.set(checkpoint.run, known)
      known.set(checkpoint.id, structuredClone(checkpoint))
    },
    async load(run, id) {
      const known = runs.get(run)
      const found = id === undefined ? inOrder([...(known?.values() ?? [])]).at(-1) : known?.get(id)
      return structuredClone(found)
    },
    async list(run) {
      return inOrder([...(runs.get(run)?.values() ?? [])]).map(infoOf)
    },
    async delete(run, id) {
      if (id === undefined) runs.delete(run)
      else runs.get(run)?.delete(id)
    },
  }
}
