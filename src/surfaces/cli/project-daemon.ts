/** The daemon of the project, for commands: when they use it, when they start it, and when they put a newer one in its place. */
import { setTimeout as delay } from 'node:timers/promises'
import { isNerveError } from '../../base/nerve-error.ts'
import { createClient, type Client } from '../client/client.ts'
import { socketConnection } from '../client/socket-connection.ts'
import { finishesSteps, goesOn } from '../daemon/at-work.ts'
import { isLiving, isLivingNode, readRecord } from '../daemon/daemon-files.ts'
import { ensureDaemon, fateOf, findDaemon, type DaemonCommand, type FoundDaemon } from '../daemon/find-daemon.ts'
import { configMark, differing } from '../daemon/environment.ts'
import type { Output } from './output.ts'
import { trustProject } from './trust-project.ts'
import { daemonHost, revived, runsOf, type DaemonHost } from './run-host.ts'
import { isOlder, version } from './version.ts'

/** One that a command started ends after this time in which nobody needed it. */
const IDLE = '10m'
const STOP_LOOK_MS = 50

/** `--local`, or the variable: everything happens in this process, and a daemon that runs is left alone. */
export function isLocal(env: NodeJS.ProcessEnv = process.env): boolean {
  return env['NERVE_LOCAL'] === '1'
}

/** How a daemon is started in the background: as it is said, as the one whose record is there was, or as commands do. */
export function daemonCommand(dir: string, said?: readonly string[]): DaemonCommand {
  const main = process.argv[1] ?? ''
  const options = said ?? readRecord(dir)?.options ?? [`--idle=${IDLE}`]
  return [process.execPath, ...process.execArgv, main, 'server', 'start', '--foreground', '--dir', dir, ...options]
}

/** One that nobody stopped is missed: its record is still there. To be asked when none runs. */
export function hasDied(dir: string): boolean {
  return readRecord(dir) !== undefined
}

/** The daemon, if one runs and is to be used. */
export async function runningDaemon(dir: string): Promise<DaemonHost | undefined> {
  if (isLocal()) return undefined
  const found = await findDaemon(dir)
  return found === undefined ? undefined : asHost(await renewed(found, dir), dir)
}

/** For what lives in the daemon: one that has died is started again. */
export async function lastingDaemon(dir: string, out: Output): Promise<DaemonHost | undefined> {
  const running = await runningDaemon(dir)
  if (running !== undefined || isLocal() || (await fateOf(dir, { patience: 0 })) !== 'died') return running
  await trustProject(dir, out)
  const found = await ensureDaemon(dir, daemonCommand(dir))
  tell(`The daemon had died, and what lived in it is gone. Another one runs now, process ${found.record.pid}.`)
  return asHost(found, dir)
}

/** The daemon, started if none runs. The project file may need to be trusted first: a daemon has nobody to ask. */
export async function startedDaemon(dir: string, out: Output): Promise<DaemonHost> {
  const found = await findDaemon(dir)
  if (found !== undefined) return asHost(await renewed(found, dir), dir)
  await trustProject(dir, out)
  const died = hasDied(dir)
  const { started, ...daemon } = await ensureDaemon(dir, daemonCommand(dir))
  // Whoever is at a terminal is told of a process that stays behind.
  if (started && out.interactive)
    tell(
      `The daemon ${died ? 'had died. It runs again' : 'runs now'}, process ${daemon.record.pid}: runs go on without this window.`,
    )
  return asHost(daemon, dir)
}

/** A client that lives long: when the daemon has died, it is started again by what is asked next. */
export async function daemonClient(dir: string, out: Output, via: string): Promise<Client> {
  const first = await startedDaemon(dir, out)
  let { record: last } = first.daemon
  await first.close()
  const connection = socketConnection({ to: { path: last.socket }, via })
  return createClient({
    ...connection,
    call: async (name, input, signal) => {
      try {
        return await connection.call(name, input, signal)
      } catch (error) {
        if (!isNerveError(error, 'connection-lost') || connection.closed.aborted) throw error
        const { isSafe } = await import('../../host/contract/contract.ts')
        const wasAsked = error.data['reached'] !== false
        // Who only looks can look again. Everything else that was sent may have been done.
        if (wasAsked && !isSafe(name)) {
          await revived(dir, daemonCommand(dir), last)
          throw error
        }
        // Whoever ended it may be about to start another one, in another way than it would be started here.
        await fateOf(dir, { before: last, ...(wasAsked ? {} : { patience: 0 }) })
        // One that nobody needed has ended meanwhile: it is needed now.
        const next = await startedDaemon(dir, out)
        last = next.daemon.record
        await next.close()
        return connection.call(name, input, signal)
      }
    },
  })
}

/** Says what the daemon has from its start that is different here and now: runs have what it has. */
export function tellOfDifferences(host: DaemonHost, dir: string): void {
  tellOfConfig(host, dir)
  tellOfEnvironment(host)
}

export function tellOfConfig({ daemon: { record } }: DaemonHost, dir: string): void {
  if (configMark(dir) === record.config) return
  tell(
    'nerve.config has changed since the daemon was started, and runs have the old one. With this: nerve server restart',
  )
}

export function tellOfEnvironment({ daemon: { record } }: DaemonHost): void {
  const names = differing(record.environment, process.env)
  if (names.length === 0) return
  tell(
    `The daemon was started with other values of ${names.join(', ')}, and runs have those. ` +
      'With these: nerve server restart, or --local.',
  )
}

function asHost(found: FoundDaemon, dir: string): DaemonHost {
  return daemonHost(found, dir, daemonCommand(dir))
}

/** A daemon of an older version that does nothing is put out of the way by a newer command; one that works is left to it. */
export async function renewed(found: FoundDaemon, dir: string): Promise<FoundDaemon> {
  const { client, record } = found
  const own = version()
  if (!isOlder(record.version, own)) return found
  try {
    const busy = await whatLives(client)
    if (busy !== undefined) {
      tell(`The daemon is of version ${record.version}, this is ${own}. ${busy} in it: nerve server restart, later.`)
      return found
    }
    await client.call('shutdown', {})
    await client.close()
  } catch (error) {
    if (!isNerveError(error, 'connection-lost')) throw error
    // Another command was a moment earlier.
    return renewed(await ensureDaemon(dir, daemonCommand(dir, record.options)), dir)
  }
  while (isLiving(record) && readRecord(dir)?.started === record.started) await delay(STOP_LOOK_MS)
  const fresh = await ensureDaemon(dir, daemonCommand(dir, record.options))
  tell(`The daemon was of version ${record.version}; one of version ${own} is in its place now.`)
  return fresh
}

/** What would be interrupted, or gone with its process; undefined when there is nothing. */
async function whatLives(client: Client): Promise<string | undefined> {
  // One that could not be taken up is nobody's work.
  const isDriven = ({ owner }: { readonly owner?: string }): boolean => owner !== undefined
  const runs = runsOf(client)
  if ((await goesOn(runs, isDriven)) || (await finishesSteps(runs, isDriven))) return 'Runs are at work'
  for (const { name: session, open } of await client.call('sessions.list', {})) {
    const { members } = open ? await client.call('sessions.get', { session }) : { members: [] }
    if (members.some(({ persistent, state }) => isLivingNode({ persistent, state })))
      return `Nodes of session '${session}' live`
  }
  return undefined
}

const told = new Set<string>()

/** Once, and on stderr: what a command prints is for programs too. */
export function tell(text: string): void {
  if (told.has(text)) return
  told.add(text)
  process.stderr.write(`nerve: ${text}\n`)
}
