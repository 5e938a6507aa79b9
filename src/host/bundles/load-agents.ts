/** Agents from a folder of files: each file is one agent, `defaults` is under all of them. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { milliseconds } from '../../base/duration.ts'
import { nearest } from '../../base/nearest.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Policy } from '../../engine/definition.ts'
import { agentNames } from '../../nodes/agents/adapters.ts'
import { agent, type AgentNode } from '../../nodes/agents/agent.ts'
import type { AgentAdapter } from '../../nodes/agents/adapter.ts'
import type { AgentGateway, AgentNodeOptions } from '../../nodes/agents/agent-options.ts'
import { planPermission } from '../../nodes/agents/permission.ts'
import { BUNDLE_KINDS, readBundleFile } from './bundle-file.ts'
import { layered, type AgentBundle } from './bundle-layers.ts'

export interface LoadAgentsOptions {
  /** Under everything that the files say. */
  readonly defaults?: AgentBundle
  /** Over everything that the files say. */
  readonly overrides?: AgentBundle
  /** The folder that the agents work in (default: that of the process). */
  readonly cwd?: string
  readonly gateway?: AgentGateway
  /** Adapters by name, for agents that Nerve does not know, or knows differently. */
  readonly adapters?: Readonly<Record<string, AgentAdapter>>
}

export interface Agents {
  readonly names: readonly string[]
  readonly nodes: readonly AgentNode<unknown>[]
  /** The agent of that name; an error that says which there are. */
  get(name: string): AgentNode<unknown>
  /** Ends the processes of all of them. */
  stop(): Promise<void>
}

const DEFAULTS = 'defaults'

/**
 * The agents in a folder. Of several folders, each is laid over the ones before: yours, then the project's.
 *
 * ```ts
 * import { loadAgents } from 'nerve/agents'
 *
 * const agents = await loadAgents('agents', { cwd: '.' }).catch(() => undefined)
 * const coder = agents?.get('coder')
 * ```
 */
export async function loadAgents(
  folders: string | readonly string[],
  options: LoadAgentsOptions = {},
): Promise<Agents> {
  const problems: string[] = []
  const files = new Map<string, AgentBundle>()
  // What is wrong with these is said already.
  const broken = new Set<string>()
  for (const folder of typeof folders === 'string' ? [folders] : folders)
    readFolder(folder, files, { problems, broken })
  const made: AgentNode<unknown>[] = []
  for (const name of files.keys()) {
    if (name === DEFAULTS || broken.has(name)) continue
    const bundle = wholeOf(name, files, { options, problems })
    if (bundle !== undefined) made.push(...nodeOf(name, bundle, { options, problems }))
  }
  if (problems.length > 0)
    throw new NerveError('bad-file', `The agents cannot be used:\n${problems.map((one) => `  ${one}`).join('\n')}`, {
      data: { problems },
    })
  return agentsOf(made)
}

function agentsOf(nodes: readonly AgentNode<unknown>[]): Agents {
  const names = nodes.map(({ id }) => id)
  return {
    names,
    nodes,
    get(name) {
      const found = nodes.find(({ id }) => id === name)
      if (found !== undefined) return found
      const near = nearest(name, names)
      const hint = near === undefined ? `There are: ${names.join(', ')}.` : `Did you mean '${near}'?`
      throw new NerveError('not-found', `There is no agent '${name}'. ${hint}`, { data: { name } })
    },
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  }
}

interface Reading {
  readonly problems: string[]
  readonly broken: Set<string>
}

function readFolder(folder: string, files: Map<string, AgentBundle>, { problems, broken }: Reading): void {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    problems.push(`${folder}: there is no such folder.`)
    return
  }
  const here = new Map<string, string>()
  for (const file of readdirSync(folder).toSorted()) {
    if (!BUNDLE_KINDS.includes(extname(file)) || file.toLowerCase() === 'readme.md') continue
    const path = join(folder, file)
    const shown = relative('.', path)
    const { name, bundle, problems: found } = readBundleFile(path, shown)
    problems.push(...found)
    if (found.length > 0) broken.add(name)
    const other = here.get(name)
    if (other !== undefined) problems.push(`${shown}: ${other} is also about '${name}'. Keep one of them.`)
    here.set(name, file)
    files.set(name, layered(files.get(name) ?? {}, bundle))
  }
}

interface Loading {
  readonly options: LoadAgentsOptions
  readonly problems: string[]
}

/** A bundle with everything under it; undefined when it extends what is not there. */
function wholeOf(
  name: string,
  files: ReadonlyMap<string, AgentBundle>,
  { options, problems }: Loading,
): AgentBundle | undefined {
  const chain: string[] = []
  for (let at: string | undefined = name; at !== undefined; at = files.get(at)?.extends) {
    if (chain.includes(at)) {
      problems.push(`${name}: extends itself: ${[...chain, at].join(' → ')}.`)
      return undefined
    }
    if (!files.has(at)) {
      const near = nearest(at, [...files.keys()])
      problems.push(
        `${name}: extends '${at}', which is not there.${near === undefined ? '' : ` Did you mean '${near}'?`}`,
      )
      return undefined
    }
    chain.push(at)
  }
  const layers = [
    options.defaults ?? {},
    files.get(DEFAULTS) ?? {},
    ...chain.toReversed().map((one) => files.get(one) ?? {}),
  ]
  return [...layers, options.overrides ?? {}].reduce(layered, {})
}

/** The node, or nothing when something is wrong with it. */
function nodeOf(name: string, bundle: AgentBundle, { options, problems }: Loading): AgentNode<unknown>[] {
  const before = problems.length
  const { use } = bundle
  const adapter =
    use === undefined ? undefined : (options.adapters?.[use] ?? (agentNames.includes(use) ? use : undefined))
  if (use === undefined)
    problems.push(`${name}: says nowhere which agent it is: give 'use', in it or in ${DEFAULTS}.yaml.`)
  else if (adapter === undefined) problems.push(`${name}: use is '${use}'. Known: ${knownUses(options).join(', ')}.`)
  for (const rule of rulesOf(bundle)) collect(problems, () => planPermission(name, { allow: [rule] }))
  const { timeout } = bundle.limits ?? {}
  if (timeout !== undefined) collect(problems, () => milliseconds(timeout, `${name}: limits.timeout`))
  if (problems.length > before || adapter === undefined) return []
  const made = collect(problems, () => agent<unknown>(name, nodeOptions(adapter, bundle, options)))
  return made === undefined ? [] : [made]
}

function knownUses({ adapters = {} }: LoadAgentsOptions): readonly string[] {
  return [...new Set([...agentNames, ...Object.keys(adapters)])]
}

function rulesOf({ permission }: AgentBundle): readonly string[] {
  return typeof permission === 'object' ? [...(permission.allow ?? []), ...(permission.deny ?? [])] : []
}

function collect<Value>(problems: string[], work: () => Value): Value | undefined {
  try {
    return work()
  } catch (error) {
    problems.push((error as Error).message)
    return undefined
  }
}

function nodeOptions(
  use: string | AgentAdapter,
  bundle: AgentBundle,
  { cwd, gateway }: LoadAgentsOptions,
): AgentNodeOptions<unknown> {
  const { extends: _base, use: _use, prompt, output, limits = {}, ...same } = bundle
  const { $schema: _schema, ...rest } = same as typeof same & { readonly $schema?: string }
  const { timeout, attempts, usd, tokens, window } = limits
  const reserve = { ...(usd === undefined ? {} : { usd }), ...(tokens === undefined ? {} : { tokens }) }
  const policy: Policy = {
    ...(timeout === undefined ? {} : { timeout }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(Object.keys(reserve).length === 0 ? {} : { reserve }),
  }
  return {
    ...rest,
    use,
    policy,
    ...(prompt === undefined ? {} : { system: prompt }),
    ...(output === undefined ? {} : { jsonSchema: output }),
    ...(window === undefined ? {} : { compactAt: window }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(gateway === undefined ? {} : { gateway }),
  }
}
