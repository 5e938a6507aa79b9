/** `nerve doctor`. Changes nothing. */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { databaseHealth, type DatabaseHealth } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { daemonTrace } from '../project.ts'

interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  readonly advice?: string
}

const LEAST_FREE_MB = 200

export async function run({ out, dir }: Invocation): Promise<number> {
  const checks = [
    ...[nodeCheck(), await sqliteCheck(), folderCheck(dir), diskCheck(dir)],
    ...(await databaseChecks(dir)),
    ...(await daemonChecks(dir)),
  ]
  const ok = checks.every((check) => check.ok)
  const agents = await foundAgents()
  out.data({ ok, dir, checks, agents })
  for (const check of checks) {
    out.line(
      `${check.ok ? out.tone('ok   ', 'good') : out.tone('WRONG', 'bad')}  ${check.name.padEnd(10)}  ${check.detail}`,
    )
    if (!check.ok && check.advice !== undefined) out.line(`                   ${check.advice}`)
  }
  for (const { name, found, version = '', licence, problem = '', install } of agents) {
    const how = found
      ? `${version}${licence === undefined ? '' : `, ${licence}`}`
      : `${problem}; to have it: ${install}`
    out.line(`${found ? out.tone('ok   ', 'good') : '-    '}  ${name.padEnd(10)}  ${how}`)
  }
  return ok ? EXIT.done : EXIT.failed
}

/** An agent that is not there is nothing wrong: few people have all of them. */
async function foundAgents() {
  const { probeAgents } = await import('../../../host/agent-api.ts')
  return probeAgents()
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const ok = major > 22 || (major === 22 && minor >= 19)
  return { name: 'node', ok, detail: process.version, advice: 'Nerve needs Node 22.19 or newer.' }
}

async function sqliteCheck(): Promise<Check> {
  try {
    const { DatabaseSync } = await import('node:sqlite')
    const db = new DatabaseSync(':memory:')
    const version = String(db.prepare('SELECT sqlite_version() AS version').get()?.['version'])
    db.close()
    return { name: 'sqlite', ok: true, detail: version }
  } catch (error) {
    return { name: 'sqlite', ok: false, detail: (error as Error).message, advice: 'Use a Node that has node:sqlite.' }
  }
}

function folderCheck(dir: string): Check {
  const nerve = join(dir, '.nerve')
  const folder = existsSync(nerve) ? nerve : dir
  try {
    accessSync(folder, constants.W_OK)
    return { name: 'folder', ok: true, detail: folder === nerve ? nerve : `${dir} (no runs yet)` }
  } catch {
    return { name: 'folder', ok: false, detail: `${folder} cannot be written`, advice: 'Check its owner and its mode.' }
  }
}

function diskCheck(dir: string): Check {
  const { bavail, bsize } = statfsSync(dir)
  const free = Math.floor((bavail * bsize) / 1e6)
  const detail = `${free >= 10_000 ? `${Math.floor(free / 1e3)} GB` : `${free} MB`} free`
  return {
    name: 'disk',
    ok: free >= LEAST_FREE_MB,
    detail,
    advice: `Free some space: less than ${LEAST_FREE_MB} MB is left.`,
  }
}

async function databaseChecks(dir: string): Promise<Check[]> {
  try {
    const health = await databaseHealth(dir)
    return health === undefined ? [] : checksOf(health)
  } catch (error) {
    return [{ name: 'database', ok: false, detail: (error as Error).message }]
  }
}

function checksOf(health: DatabaseHealth): Check[] {
  const { damage, format, runs, dead, crashed } = health
  return [
    {
      name: 'database',
      ok: damage.length === 0,
      detail: damage.length === 0 ? `${runs} runs, format ${format}` : `damaged: ${damage.slice(0, 3).join('; ')}`,
      advice: 'Export what can be read (nerve export RUN), move the file away, and import it again.',
    },
    {
      name: 'runs',
      ok: crashed.length === 0,
      detail:
        crashed.length === 0
          ? 'nothing was left behind'
          : `${crashed.length} crashed: ${crashed.slice(0, 5).join(', ')}`,
      advice: 'Drive them on: nerve resume --all',
    },
    {
      name: 'owners',
      ok: true,
      detail: dead.length === 0 ? 'no dead processes' : `${dead.length} dead processes, cleared by the next recovery`,
    },
  ]
}

/** Nothing where there is no trace of one: a project needs none. */
async function daemonChecks(dir: string): Promise<Check[]> {
  if (!existsSync(daemonTrace(dir))) return []
  const { findDaemon } = await import('../../daemon/find-daemon.ts')
  try {
    const found = await findDaemon(dir)
    await found?.client.close()
    const died = { name: 'daemon', ok: false, detail: 'has died', advice: 'Start it again: nerve server start' }
    if (found === undefined) return [died]
    const { pid, version } = found.record
    return [{ name: 'daemon', ok: true, detail: `${version}, process ${pid}` }]
  } catch (error) {
    return [{ name: 'daemon', ok: false, detail: (error as Error).message }]
  }
}
