/** `nerve server …`. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { milliseconds, showDuration } from '../../../base/duration.ts'
import { NerveError, isNerveError } from '../../../base/nerve-error.ts'
import type { Client } from '../../client/client.ts'
import {
  daemonFiles,
  isLiving,
  readRecord,
  readStart,
  removeRecord,
  startsStill,
  type DaemonRecord,
} from '../../daemon/daemon-files.ts'
import { CHANGE_MS, announce, ensureDaemon, fateOf, findDaemon, isHeld } from '../../daemon/find-daemon.ts'
import { hostName, pageOrigin } from '../../server/addresses.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { trustProject } from '../trust-project.ts'
import { clean } from '../printable.ts'
import { projectConfig } from '../project.ts'
import { daemonCommand, renewed } from '../project-daemon.ts'
import { pause, untilSignal } from '../until-signal.ts'
import { exposed, wholeNumber } from '../values.ts'
import { version } from '../version.ts'

const LISTENING_OPTIONS: readonly string[] = ['http', 'host', 'beyond-loopback', 'name', 'origin', 'expose', 'idle']

/** Only to say it before anything is stopped or started: the server has the last word. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/

const MOST_TRIES = 5
const START_GRACE_MS = 5_000

const VERBS: Readonly<Record<string, (invocation: Invocation) => Promise<number>>> = {
  'server start': start,
  'server stop': stop,
  'server restart': restart,
  'server status': status,
  'server logs': logs,
}

export function run(invocation: Invocation): Promise<number> {
  const verb = VERBS[invocation.command]
  if (verb === undefined) throw new UsageError(`nerve server: there is no '${invocation.command}'.`)
  return verb(invocation)
}

async function start(invocation: Invocation): Promise<number> {
  const { args } = invocation
  // What is wrong with the call is told before anything starts.
  const listening = listeningOf(invocation)
  if (args.flag('foreground')) return inForeground(invocation, listening)
  return inBackground(invocation, passedOn(invocation))
}

async function inBackground(invocation: Invocation, options: readonly string[]): Promise<number> {
  const { args, dir, out } = invocation
  const running = await findDaemon(dir)
  if (running === undefined) await trustProject(dir, out)
  const {
    client,
    record,
    started: isOurs,
  } = running === undefined
    ? await ensureDaemon(dir, daemonCommand(dir, options))
    : { ...(await renewed(running, dir)), started: false }
  await tellOfMissing(invocation, client)
  await client.close()
  const { options: its = options } = record
  const isSame = isOurs || options.toSorted().join('\n') === its.toSorted().join('\n')
  if (!isSame && LISTENING_OPTIONS.some((name) => args.flag(name)))
    throw new NerveError(
      'owned-elsewhere',
      `The daemon runs already, with other options: ${its.join(' ')}. With these: nerve server restart ${options.join(' ')}`,
    )
  tell(invocation, record, isOurs ? 'started' : 'runs already')
  const idle = /^--idle=(?!never)(.*)/.exec(its.find((one) => one.startsWith('--idle=')) ?? '')?.[1]
  if (!isSame && idle !== undefined)
    out.line(
      `  It ends when nobody has needed it for ${idle}. For as long as you like: nerve server restart --idle never`,
    )
  return EXIT.done
}

/** What would keep the new one from starting is looked for while the old one lives. */
async function restart(invocation: Invocation): Promise<number> {
  const { args, dir, out } = invocation
  listeningOf(invocation)
  await trustProject(dir, out)
  await projectConfig(dir, out)
  const said = LISTENING_OPTIONS.some((name) => args.flag(name))
  const before = readRecord(dir)?.options
  const ended = await end(invocation)
  try {
    // Without a word about it, as it was before.
    return await startAnew(invocation, (said ? undefined : before) ?? passedOn(invocation))
  } catch (error) {
    if (!ended || before === undefined || !isNerveError(error)) throw error
    await (await ensureDaemon(dir, daemonCommand(dir, before))).client.close()
    const { code, message, data } = error
    throw new NerveError(code, `${message.replace(/\.?$/, '.')} The daemon runs again, as it did before.`, {
      data,
      cause: error,
    })
  }
}

/** One that somebody else needed and started in between is ended too: it has their environment, and listens as they like. */
async function startAnew(invocation: Invocation, options: readonly string[]): Promise<number> {
  const { dir } = invocation
  for (let tries = 1; ; tries += 1) {
    const { client, record, started } = await ensureDaemon(dir, daemonCommand(dir, options))
    if (started) await tellOfMissing(invocation, client)
    await client.close()
    if (!started && tries < MOST_TRIES) await end(invocation)
    else {
      tell(invocation, record, started ? 'started' : 'runs already')
      return EXIT.done
    }
  }
}

/** A name that is not known may become so, and is a tool from then on; but it may also be a slip of the hand. */
async function tellOfMissing({ args }: Invocation, client: Client): Promise<void> {
  const names = exposed(args.texts('expose'), 'nerve server')
  for (const definition of names === 'all' ? [] : names) {
    try {
      await client.call('definitions.explain', { definition })
    } catch (error) {
      if (!isNerveError(error)) throw error
      process.stderr.write(`nerve: --expose: ${error.message} It is a tool as soon as there is one.\n`)
    }
  }
}

/** The options for the process in the background, as they were given. */
function passedOn({ args }: Invocation): string[] {
  const texts = ['http', 'host', 'name', 'origin', 'expose'].flatMap((name) =>
    args.texts(name).map((value) => `--${name}=${value}`),
  )
  const idle = args.text('idle') ?? 'never'
  return [...texts, ...(args.flag('beyond-loopback') ? ['--beyond-loopback'] : []), `--idle=${idle}`]
}

interface Listening {
  readonly http?: { readonly port: number; readonly host?: string; readonly beyondLoopback?: boolean }
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  readonly expose: 'all' | readonly string[]
  readonly idle: number | undefined
}

function listeningOf({ args }: Invocation): Listening {
  const port = args.text('http')
  const host = args.text('host')
  const idle = args.text('idle') ?? 'never'
  if (port === undefined && (host !== undefined || args.flag('beyond-loopback')))
    throw new UsageError('nerve server: --host and --beyond-loopback are for --http PORT.')
  const tcp = {
    port: wholeNumber(port ?? '0', '--http'),
    ...(host === undefined ? {} : { host }),
    ...(args.flag('beyond-loopback') ? { beyondLoopback: true } : {}),
  }
  if (host !== undefined && !LOOPBACK.test(host) && !args.flag('beyond-loopback'))
    throw new NerveError(
      'not-allowed',
      `--host: ${host} can be reached from other machines. If that is meant: --beyond-loopback. There is no TLS: put a proxy before it, or use an SSH tunnel.`,
      { data: { reason: 'host' } },
    )
  if (tcp.port > 65_535) throw new UsageError(`--http: ${tcp.port} is not a port.`)
  return {
    ...(port === undefined ? {} : { http: tcp }),
    hosts: args.texts('name').map((name) => hostName(name, '--name')),
    origins: args.texts('origin').map((page) => pageOrigin(page, '--origin')),
    expose: exposed(args.texts('expose'), 'nerve server'),
    idle: idle === 'never' ? undefined : milliseconds(idle, '--idle'),
  }
}

async function inForeground(invocation: Invocation, listening: Listening): Promise<number> {
  const { dir, out } = invocation
  const options = passedOn(invocation)
  const { quietly } = await import('../quiet-process.ts')
  const say = (text: string): void => void process.stderr.write(`${new Date().toISOString()} ${text}\n`)
  const onProblem = (error: unknown): void => say(`problem: ${describe(error)}`)
  // From the start on: runs that were left are taken up before it can be asked.
  const loud = quietly(onProblem)
  const { promise: told, resolve } = Promise.withResolvers<NodeJS.Signals>()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, resolve)
  try {
    const { startDaemon } = await import('../../daemon/daemon.ts')
    const starting = startDaemon({ dir, version: version(), ...listening, options, isHeld, say, onProblem })
    const daemon = await Promise.race([starting, giveUpStarting(told)])
    void told.then((signal) => daemon.stop(signal)).catch(onProblem)
    announce({ record: daemon.record })
    out.data(shown(daemon.record))
    await daemon.ended
    return EXIT.done
  } catch (error) {
    announce({ error })
    throw error
  } finally {
    loud()
  }
}

/**
 * One that is told to end before it has started ends after that: it may have taken up runs. But neither it, nor one that nobody
 * waits for any more, is to be at it for ever: no command would find it, and none could take its place.
 */
async function giveUpStarting(told: Promise<NodeJS.Signals>): Promise<never> {
  const left = new Promise<string>((resolve) => process.once('disconnect', () => resolve('whoever started it is gone')))
  const why = await Promise.race([told, left])
  await delay(START_GRACE_MS, undefined, { ref: false })
  throw new NerveError('host-closed', `The daemon has not come to the end of its start: ${why}.`)
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

async function stop(invocation: Invocation): Promise<number> {
  const ended = await end(invocation)
  invocation.out.data({ stopped: ended })
  invocation.out.line(ended ? 'The daemon has ended. Its runs wait for the next one.' : 'No daemon runs here.')
  return EXIT.done
}

/** True when there was one. */
async function end({ args, dir }: Invocation): Promise<boolean> {
  if (args.flag('force')) return kill(dir)
  const found = await findDaemon(dir)
  if (found === undefined) {
    if (await endStarting(dir, 'SIGTERM')) return true
    forgetDead(dir)
    return false
  }
  try {
    await found.client.call('shutdown', {})
  } catch (error) {
    // Somebody else was a moment earlier.
    if (!isNerveError(error, 'connection-lost')) throw error
  }
  await found.client.close()
  await gone(found.record)
  return true
}

async function endStarting(dir: string, signal: NodeJS.Signals): Promise<boolean> {
  const starting = readStart(dir)
  if (starting === undefined) return false
  process.kill(starting.pid, signal)
  await gone(starting)
  return true
}

/** One that has died is missed by what its record says, and somebody has just said that it is not needed. */
function forgetDead(dir: string): void {
  const record = readRecord(dir)
  if (record !== undefined && !isLiving(record)) removeRecord(dir, record)
}

async function kill(dir: string): Promise<boolean> {
  if (await endStarting(dir, 'SIGKILL')) return true
  const record = readRecord(dir)
  if (record === undefined) return false
  const lived = await isThere(dir)
  // Before it is gone: whoever loses it then does not start another one.
  removeRecord(dir, record)
  if (!lived) return false
  process.kill(record.pid, 'SIGKILL')
  await gone(record)
  return true
}

/** One that does not answer is it all the same; a process that took over its number is not. */
async function isThere(dir: string): Promise<boolean> {
  try {
    const found = await findDaemon(dir)
    await found?.client.close()
    return found !== undefined
  } catch (error) {
    if (isNerveError(error, 'timeout')) return true
    throw error
  }
}

const GONE_LOOK_MS = 50

async function gone(record: DaemonRecord): Promise<void> {
  for (const deadline = Date.now() + CHANGE_MS; isLiving(record);) {
    if (Date.now() > deadline)
      throw new NerveError(
        'timeout',
        `The daemon (process ${record.pid}) was told to end, and has not yet. If it does not: nerve server stop --force`,
        { data: { pid: record.pid } },
      )
    await pause(GONE_LOOK_MS, new AbortController().signal)
  }
}

async function status({ dir, out }: Invocation): Promise<number> {
  const found = await findDaemon(dir)
  const starting = found === undefined ? readStart(dir) : undefined
  if (starting !== undefined) {
    out.data({ running: false, starting: starting.pid })
    out.line(startsStill(starting))
    return EXIT.failed
  }
  if (found === undefined) {
    const died = (await fateOf(dir, { patience: 0 })) === 'died'
    out.data({ running: false, ...(died ? { died: true } : {}) })
    out.line(died ? 'The daemon has died. The next command that needs it starts it again.' : 'No daemon runs here.')
    return EXIT.failed
  }
  const { client, record } = found
  const { open, questions, host } = await client.health()
  await client.close()
  out.data({ running: true, ...shown(record), host, open, questions })
  for (const line of described(record)) out.line(line)
  out.line(
    `  ${open} open ${open === 1 ? 'run' : 'runs'}, ${questions} open ${questions === 1 ? 'question' : 'questions'}`,
  )
  return EXIT.done
}

function tell({ out }: Invocation, record: DaemonRecord, what: string): void {
  out.data({ ...shown(record), started: what === 'started' })
  const [first = '', ...rest] = described(record)
  out.line(`${first}: ${what}`)
  for (const line of rest) out.line(line)
}

function described({ pid, version: of, socket, url, started }: DaemonRecord): string[] {
  return [
    `nerve ${of}, process ${pid}, for ${showDuration(Math.max(0, Date.now() - started))}`,
    `  ${socket}`,
    ...(url === undefined ? [] : [`  ${url}  (nerve token show default; MCP at ${url}/mcp)`]),
  ]
}

function shown({
  environment: _environment,
  options: _options,
  ...record
}: DaemonRecord): Omit<DaemonRecord, 'environment' | 'options'> {
  return record
}

async function logs({ args, dir, out }: Invocation): Promise<number> {
  const { log } = daemonFiles(dir)
  const lines = wholeNumber(args.text('lines') ?? '100', '--lines')
  if (!existsSync(log)) throw new NerveError('not-found', `There is no log of a daemon in ${dir}.`)
  const write = (text: string): void => {
    if (out.json) for (const line of text.split('\n').filter((one) => one !== '')) out.data({ line })
    else out.write(process.stdout.isTTY ? clean(text) : text)
  }
  const bytes = readFrom(log, 0)
  const all = bytes.toString('utf8').split('\n')
  write(all.slice(-lines - 1).join('\n'))
  if (args.flag('follow')) await follow(log, bytes.length, write)
  return EXIT.done
}

const LOG_LOOK_MS = 200

/** Until Ctrl-C. The log may be turned, and another daemon may begin a new one. */
async function follow(file: string, from: number, write: (text: string) => void): Promise<void> {
  const { signal, release } = untilSignal()
  try {
    for (let at = from; !signal.aborted; await pause(LOG_LOOK_MS, signal)) {
      const { size = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {}
      if (size < at) at = 0
      const more = readFrom(file, at)
      // The rest of a line comes with the next look: it may have been cut within a letter.
      const whole = more.subarray(0, more.lastIndexOf('\n') + 1)
      at += whole.length
      if (whole.length > 0) write(whole.toString('utf8'))
    }
  } finally {
    release()
  }
}

/** Nothing, when there is no such file. */
function readFrom(file: string, from: number): Buffer {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  const bytes = Buffer.alloc(Math.max(0, size - from))
  if (bytes.length === 0) return bytes
  const opened = openSync(file, 'r')
  try {
    return bytes.subarray(0, readSync(opened, bytes, 0, bytes.length, from))
  } finally {
    closeSync(opened)
  }
}
