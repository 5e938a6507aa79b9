/** Where Nerve keeps what belongs to a person and not to a project: `nerve` in the folder that the system has for such things. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

export function stateFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const given = env['XDG_STATE_HOME'] ?? ''
  return join(isAbsolute(given) ? given : join(homedir(), '.local', 'state'), 'nerve')
}
