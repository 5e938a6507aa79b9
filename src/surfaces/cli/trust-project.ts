import { configFile } from '../../host/api.ts'
import { demandOwnRecords } from '../../host/config/records.ts'
import { demandTrust } from '../../host/config/trust.ts'
import type { Output } from './output.ts'
import { trustQuestion } from './trust-question.ts'

/** Sees to it that the code of the project may run later, in a process that has nobody to ask. */
export async function trustProject(dir: string, out: Output): Promise<void> {
  const asking = { ask: trustQuestion(out) }
  const file = configFile(dir)
  if (file !== undefined) await demandTrust(dir, file, asking)
  await demandOwnRecords(dir, asking)
}
