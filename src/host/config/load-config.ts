/** Finds, trusts, loads and checks the file of a project. */
import { NerveError } from '../../base/nerve-error.ts'
import { importFile } from '../definition-file.ts'
import { nodeFactory } from '../sessions/node-kinds.ts'
import { checkConfig, type CheckedConfig } from './check-config.ts'
import { configFile } from './find-config.ts'
import { demandTrust, type TrustAsking } from './trust.ts'

export interface LoadedConfig extends CheckedConfig {
  readonly file: string
}

/** What the file of the project says; undefined when there is none. */
export async function loadConfig(dir: string, asking?: TrustAsking): Promise<LoadedConfig | undefined> {
  const file = configFile(dir)
  if (file === undefined) return undefined
  await demandTrust(dir, file, asking)
  const { default: given } = await importFile(file)
  const checked = await checkConfig(given, { dir, factory: nodeFactory })
  if (!('problems' in checked)) return { ...checked, file }
  const { problems } = checked
  const many = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  throw new NerveError('bad-file', `${file} has ${many}:\n${problems.map((text) => `  - ${text}`).join('\n')}`, {
    data: { file, problems },
  })
}
