/** Whoever does what `nerve call` asks: the daemon when one runs, else a host in this process. */
import { existsSync } from 'node:fs'
import { databaseFile, type Host } from '../../host/api.ts'
import { isFeed, isSafe, type Name } from '../../host/contract/contract.ts'
import type { Client } from '../client/client.ts'
import type { Invocation } from './dispatch.ts'
import { daemonOf, daemonTrace, me, openProject } from './project.ts'
import type { DaemonHost } from './run-host.ts'
import { unlessEnded } from './until-signal.ts'

export interface ContractClient {
  readonly client: Client
  /** Brings it back when it is lost; undefined for a host in this process. */
  readonly revive: (() => Promise<void>) | undefined
  /** In this process, what was set going goes on until it rests, or until somebody leaves. */
  readonly end: (left: AbortSignal) => Promise<void>
}

export async function contractClient(invocation: Invocation, name: Name): Promise<ContractClient> {
  const daemon = await daemonFor(invocation, name)
  if (daemon === undefined) return clientHere(invocation, name)
  const { tellOfConfig } = await import('./project-daemon.ts')
  tellOfConfig(daemon, invocation.dir)
  return { client: daemon.daemon.client, revive: () => daemon.revive(), end: () => daemon.close() }
}

/** Whoever only looks starts none; for everything else, one that has died is started again. */
async function daemonFor({ out, dir }: Invocation, name: Name): Promise<DaemonHost | undefined> {
  if (isSafe(name)) return daemonOf(dir)
  if (!existsSync(daemonTrace(dir))) return undefined
  return (await import('./project-daemon.ts')).lastingDaemon(dir, out)
}

async function clientHere({ out, dir }: Invocation, name: Name): Promise<ContractClient> {
  // To look is to make nothing; but a feed also tells of what other processes will do.
  const looks = isSafe(name) && !isFeed(name) && !existsSync(databaseFile(dir))
  const { host, config } = await openProject(dir, out, looks ? 'memory' : undefined)
  const { serviceClient } = await import('./project-service.ts')
  const onProblem = (error: unknown): void => out.error(error)
  const client = serviceClient({ host, config, dir, onProblem }, { ...me(), scope: 'control', local: true })
  const end = async (left: AbortSignal): Promise<void> => {
    await unlessEnded(rested(host), left)
    await client.close()
  }
  return { client, revive: undefined, end }
}

async function rested(host: Host): Promise<void> {
  const atWork = (await host.runs({ status: ['queued', 'running'] })).filter(({ owner }) => owner === host.id)
  // One that this process lost meanwhile is not waited for.
  await Promise.allSettled(atWork.map(async ({ run }) => (await host.handle(run)).rest()))
}
