/** What a project file says: `nerve.config.ts`. */
import type { Budget } from '../../journal/events.ts'
import type { NotifySettings } from '../notifications/settings.ts'
import type { NodeFields } from '../sessions/node-factory.ts'
import type { SessionItem } from '../sessions/session.ts'

export interface ProjectConfig {
  /** Nodes, graphs and workflows, made in code or as data. Those that no session names are in the session `default`. */
  readonly nodes?: readonly SessionItem[]
  /** Sessions by their names. */
  readonly sessions?: Readonly<Record<string, ConfigSession>>
  readonly defaults?: ConfigDefaults
  /** Who is told of questions, ends, failures and spent budgets while a server runs. */
  readonly notify?: NotifySettings
}

export interface ConfigSession {
  readonly tags?: readonly string[]
  /** Names of `nodes`, or more of the same kinds. */
  readonly nodes?: readonly (string | SessionItem)[]
}

export interface ConfigDefaults {
  /** For runs that `nerve run` starts: a definition's own budget and `--budget` are laid over it. */
  readonly budget?: Budget
  /** Fields of nodes that are made as data, by their kind; what a node says itself is laid over them. */
  readonly nodes?: Readonly<Record<string, NodeFields>>
}

/**
 * A project file, with its types.
 *
 * ```ts
 * import { config } from 'nerve/config'
 * import { bash } from 'nerve/nodes'
 *
 * export default config({ nodes: [bash('build', { command: 'npm run build' })] })
 * ```
 */
export function config<const Config extends ProjectConfig>(of: Config): Config {
  return of
}
