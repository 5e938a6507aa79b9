/** What surfaces may use of the model gateway. Apart from api.ts, because one command needs it. */
import { readFile, stat } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { NerveError } from '../base/nerve-error.ts'
import { makeOwnFolder } from '../base/own-folder.ts'
import type { Backend } from '../gateway/backend.ts'
import { provider } from '../gateway/backends/provider.ts'
import type { ProviderOptions } from '../gateway/backends/provider-options.ts'
import { record } from '../gateway/backends/record.ts'
import { replay } from '../gateway/backends/replay.ts'
import { scripted } from '../gateway/backends/scripted.ts'
import { readLog, type LoggedExchange } from '../gateway/exchange-log.ts'
import { createGateway, type Gateway } from '../gateway/gateway.ts'
import { runningGateways, type GatewayRecord } from '../gateway/gateway-record.ts'
import { parseScript } from '../gateway/script/read-script.ts'
import type { Script, ScriptFunction } from '../gateway/script/script.ts'
import { importFile } from './definition-file.ts'

export { agentSettings, type AgentSettings } from '../gateway/agent-settings.ts'
export type { Gateway } from '../gateway/gateway.ts'
export type { LoggedExchange } from '../gateway/exchange-log.ts'

export interface GatewayChoice {
  /** One of the three. */
  readonly script?: string
  readonly provider?: ProviderOptions & { readonly name: string }
  readonly replay?: string
  /** A folder in which what is answered is kept. */
  readonly record?: string
}

/** Where a project's gateways keep their log. */
export function gatewayFolder(dir: string): string {
  return join(dir, '.nerve', 'gateway')
}

export async function startGateway(
  dir: string,
  choice: GatewayChoice,
  more: { readonly port?: number; readonly onProblem?: (error: unknown) => void } = {},
): Promise<Gateway> {
  const answering = await backendFor(choice)
  makeOwnFolder(join(dir, '.nerve'))
  const backend =
    choice.record === undefined ? answering : record({ backend: answering, folder: resolve(choice.record) })
  return createGateway({ backend, log: { folder: gatewayFolder(dir) }, ...more })
}

async function backendFor(choice: GatewayChoice): Promise<Backend> {
  if (choice.script !== undefined) return scripted(await loadScript(choice.script), { name: `script ${choice.script}` })
  if (choice.provider !== undefined) {
    const { name, ...options } = choice.provider
    return provider(name, options)
  }
  if (choice.replay !== undefined) return replay({ folder: await folderAt(choice.replay) })
  throw new NerveError('bad-option', 'A gateway needs a script, a provider or a folder of recordings.')
}

/** A slip of the hand would answer every call with a failure. */
async function folderAt(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() === true) return resolve(path)
  throw new NerveError(
    'bad-file',
    `There is no folder ${resolve(path)} with recordings. Make them with: --record FOLDER`,
  )
}

/** YAML, JSON, or a file of code whose default export is a script or a function. */
async function loadScript(file: string): Promise<Script | ScriptFunction> {
  if (/^\.[cm]?[jt]s$/.test(extname(file))) {
    const { default: script } = await importFile(file)
    if (typeof script === 'object' || typeof script === 'function') return script as Script | ScriptFunction
    throw new NerveError('bad-file', `${file} has no script as its default export.`)
  }
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new NerveError('bad-file', `${file} could not be read: ${(cause as Error).message}`, { cause })
  })
  return parseScript(text, file)
}

export interface GatewayStatus extends GatewayRecord {
  /** Undefined: it does not answer. */
  readonly open?: number
}

/** The gateways that run in a project, and how many calls each has open. */
export async function gatewayStatus(dir: string): Promise<readonly GatewayStatus[]> {
  const running = await runningGateways(gatewayFolder(dir))
  return Promise.all(running.map(async (one) => ({ ...one, ...(await health(one.url)) })))
}

async function health(url: string): Promise<{ readonly open?: number }> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) })
    return { open: ((await response.json()) as { open: number }).open }
  } catch {
    return {}
  }
}

/** The exchanges of a project's gateways, oldest first. */
export function exchanges(dir: string): Promise<readonly LoggedExchange[]> {
  return readLog(gatewayFolder(dir))
}

/** One exchange by its id, the beginning of one, or `last`. */
export async function exchange(dir: string, wanted: string): Promise<LoggedExchange> {
  const all = await exchanges(dir)
  const found = wanted === 'last' ? all.slice(-1) : all.filter(({ id }) => id.startsWith(wanted))
  const [one, ...others] = found
  if (one === undefined) throw new NerveError('not-found', `There is no exchange ${wanted}. See: nerve gateway log`)
  if (others.length > 0)
    throw new NerveError(
      'not-found',
      `${found.length} exchanges begin with ${wanted}. Give more of the id: nerve gateway log`,
    )
  return one
}
