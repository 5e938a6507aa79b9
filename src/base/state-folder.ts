/** Where Nerve keeps what belongs to a person and not to a project: `nerve` in the folder that the system has for such things. */
import { homedir, userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'

export function stateFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const given = env['XDG_STATE_HOME'] ?? ''
  return join(isAbsolute(given) ? given : join(home(), '.local', 'state'), 'nerve')
}

/** A HOME that is empty or relative would be in the folder of the project, whose files could then say that they are trusted. */
function home(): string {
  const given = homedir()
  return isAbsolute(given) ? given : userInfo().homedir
}
