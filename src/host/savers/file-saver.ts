import type { Saver } from '../../define/state/checkpoint.ts'
import { checkpointFiles } from './checkpoint-files.ts'
import { fromJson, toJson } from './checkpoint-json.ts'

/**
 * Keeps checkpoints as JSON, in a folder for each run.
 *
 * ```ts
 * import { fileSaver } from 'nerve/state'
 *
 * const saver = fileSaver('.nerve/checkpoints')
 * ```
 */
export function fileSaver(folder: string): Saver {
  return checkpointFiles(folder, {
    extension: '.json',
    write: (checkpoint) => `${toJson(checkpoint)}\n`,
    read: fromJson,
  })
}
