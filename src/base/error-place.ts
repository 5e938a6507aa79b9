/** Where in the files of an author an error arose. */
import { fileURLToPath } from 'node:url'

/** The folder of Nerve itself, built or not. */
const OWN = fileURLToPath(new URL('../', import.meta.url))

/** `(file:///a/flow.ts:3:16)`, `at /a/flow.js:3:16`, and the first line of a stack that tells of wrong syntax: `file:///a/flow.ts:3`. */
const PLACE = /(?:^|\bat (?:async )?|\()((?:file:\/\/)?\/.*?)(?:\?[^:]*)?(:\d+(?::\d+)?)\)?$/

/** `/a/flow.ts:3:16`: the first place of a stack that is neither in Node nor in a package. */
export function placeOf(stack: string | undefined): string | undefined {
  for (const line of stack?.split('\n') ?? []) {
    const [, where, position] = PLACE.exec(line.trim()) ?? []
    if (where === undefined || position === undefined || where.includes('/node_modules/')) continue
    const path = where.startsWith('file:') ? fileURLToPath(where) : where
    if (!path.startsWith(OWN)) return `${path}${position}`
  }
  return undefined
}
