/** Calls of models as files beside the tests: recorded once with a key, replayed from then on without one. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Backend } from '../gateway/backend.ts'
import { record } from '../gateway/backends/record.ts'
import { RECORDING_FILE, type RecordingOptions } from '../gateway/backends/recordings.ts'
import { replay } from '../gateway/backends/replay.ts'

export interface RecordedOptions extends RecordingOptions {
  /** Who is asked when it is recorded. A function, because providers want their key as soon as they are made. */
  readonly backend: () => Backend
  /** Whether it is recorded (default: when the environment variable NERVE_RECORD is 1). What was recorded before is removed. */
  readonly record?: boolean
}

/** A back end for a gateway: replays what is in the folder, or records it anew. */
export function recorded(options: RecordedOptions): Backend {
  const { backend, record: recording = process.env['NERVE_RECORD'] === '1', ...kept } = options
  if (!recording) return replay(kept)
  for (const name of filesIn(kept.folder)) if (RECORDING_FILE.test(name)) rmSync(join(kept.folder, name))
  return record({ ...kept, backend: backend() })
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
