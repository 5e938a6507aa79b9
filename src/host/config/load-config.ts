/** Finds, trusts, loads and checks the file of a project. */
import { NerveError } from '../../base/nerve-error.ts'
import { importFile } from '../definition-file.ts'
import { nodeFactory } from '../sessions/node-kinds.ts'
import { checkConfig, type CheckedConfig } from './check-config.ts'
import { configFile } from './find-config.ts'
import { isTrusted, trustFile } from './trust.ts'

export interface ConfigAsking {
  /** Asks a person whether this file may run; without it nobody is there to be asked. */
  readonly ask?: ((file: string) => Promise<boolean>) | undefined
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface LoadedConfig extends CheckedConfig {
  readonly file: string
}

/** Sees to it that the file of the project may run, and gives it. Nothing of it has run yet. */
export async function trustedConfig(dir: string, asking: ConfigAsking = {}): Promise<string | undefined> {
  const file = configFile(dir)
  const { env = process.env } = asking
  if (file === undefined || env['NERVE_TRUST'] === '1' || isTrusted(file, env)) return file
  if ((await asking.ask?.(file)) === true) {
    trustFile(file, env)
    return file
  }
  throw new NerveError(
    'not-trusted',
    `${file} is code that would run now, and nobody has trusted it yet. Look at it; then: nerve trust ${dir}. ` +
      'For one command, as in CI: NERVE_TRUST=1.',
    { data: { file } },
  )
}

/** What the file of the project says; undefined when there is none. */
export async function loadConfig(dir: string, asking?: ConfigAsking): Promise<LoadedConfig | undefined> {
  const file = await trustedConfig(dir, asking)
  if (file === undefined) return undefined
  const { default: given } = await importFile(file)
  const checked = await checkConfig(given, { dir, factory: nodeFactory })
  if (!('problems' in checked)) return { ...checked, file }
  const { problems } = checked
  const many = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  throw new NerveError('bad-file', `${file} has ${many}:\n${problems.map((text) => `  - ${text}`).join('\n')}`, {
    data: { file, problems },
  })
}
