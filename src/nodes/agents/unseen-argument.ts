/**
 * What a program is started with can be seen by everybody on the machine. An argument that may hold a secret is handed over as a file instead, which
 * only its owner can read and which has no name any more when the program starts.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The descriptor after the three that every program has. */
const NEXT = 3

export interface Unseen {
  readonly args: readonly string[]
  /** To be handed on as descriptor 3; none when the option is not among the arguments. */
  readonly descriptors: readonly number[]
  /** When the program has its own. */
  readonly close: () => void
}

/** The value after the option becomes a file. */
export function unseenValue(args: readonly string[], option: string): Unseen {
  const at = args.indexOf(option) + 1
  const value = args[at]
  if (at === 0 || value === undefined) return { args, descriptors: [], close: () => undefined }
  const descriptor = openUnnamed(value)
  return {
    args: args.with(at, `/dev/fd/${NEXT}`),
    descriptors: [descriptor],
    close: () => closeSync(descriptor),
  }
}

function openUnnamed(text: string): number {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-argument-'))
  try {
    const file = join(folder, 'value')
    writeFileSync(file, text, { mode: 0o600 })
    return openSync(file, 'r')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
