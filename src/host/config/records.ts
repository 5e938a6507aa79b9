import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isMadeHere } from '../../base/own-folder.ts'
import { demandTrust, type TrustAsking } from './trust.ts'

/** What was recorded on another machine, or by another project, names programs that would run when it is driven on: a person has to trust it first. */
export async function demandOwnRecords(dir: string, asking: TrustAsking = {}): Promise<void> {
  const folder = join(dir, '.nerve')
  if (!existsSync(folder) || readdirSync(folder).length === 0 || isMadeHere(folder)) return
  await demandTrust(dir, folder, asking)
}
