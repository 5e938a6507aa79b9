import { join } from 'node:path'

/** Where sessions are recorded. */
export function sessionFolder(dir: string): string {
  return join(dir, '.nerve', 'sessions')
}
