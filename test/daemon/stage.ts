/** A project with a daemon, as people have it: real processes, the real socket. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type Client } from 'nerve/client'
import { project, type Project } from '../cli/nerve.ts'

export interface Stage
  extends Omit<Project, 'nerve' | 'start' | 'terminal'>, Pick<Project, 'nerve' | 'start' | 'terminal'> {
  /** What the daemon says of itself; undefined when none says anything. */
  readonly record: () => { readonly pid: number; readonly socket: string; readonly url?: string } | undefined
  readonly client: () => Promise<Client>
  readonly log: () => string
  /** Kills the daemon, and waits until it is gone. */
  readonly kill: (signal?: NodeJS.Signals) => Promise<void>
}

/** Commands look for the daemon, which the other tests keep them from. */
const DAEMON = { NERVE_LOCAL: '' }

export function stage(files: Readonly<Record<string, string>>): Stage {
  const here = project(files)
  const file = (name: string): string => join(here.dir, '.nerve', name)
  const clients: Client[] = []
  const record: Stage['record'] = () =>
    existsSync(file('server.json'))
      ? (JSON.parse(readFileSync(file('server.json'), 'utf8')) as ReturnType<Stage['record']>)
      : undefined
  return {
    ...here,
    nerve: (args, options = {}) => here.nerve(args, { ...options, env: { ...DAEMON, ...options.env } }),
    start: (args, env = {}) => here.start(args, { ...DAEMON, ...env }),
    terminal: (args, script, options = {}) =>
      here.terminal(args, script, { ...options, env: { ...DAEMON, NO_COLOR: '1', ...options.env } }),
    record,
    client: async () => {
      const client = await connect(record()?.socket ?? file('nerve.sock'))
      clients.push(client)
      return client
    },
    log: () => readFileSync(file('logs/server.log'), 'utf8'),
    kill: async (signal = 'SIGKILL') => {
      const { pid } = record() ?? {}
      if (pid === undefined) throw new Error('there is no daemon')
      process.kill(pid, signal)
      await here.until(() => !isAlive(pid), 'the daemon is gone')
    },
    remove: () => {
      for (const client of clients) void client.close()
      here.remove()
    },
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  // Killed, and not taken note of yet by whoever has to.
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ''
  return !/\) [ZX] /.test(stat)
}
