/** `nerve run` and `nerve graph run`. */
import { resolve } from 'node:path'
import { loadDefinitions, type AnyDefinition, type StartMore } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { Driver } from '../driver.ts'
import { report } from '../outcome.ts'
import { openProject, trustProject, type Project } from '../project.ts'
import { parseBudget, parsePairs, readInput } from '../values.ts'

interface Wanted {
  readonly definition: AnyDefinition
  readonly input: unknown
  readonly more: StartMore
}

/** What is to be run, and the file that it is in, if it is in one. */
export interface Found {
  readonly definition: AnyDefinition
  readonly source?: string
}

export function run(invocation: Invocation): Promise<number> {
  const { args, cwd } = invocation
  return start(invocation, () => firstIn(resolve(cwd, args.words[0] ?? '')))
}

export async function firstIn(source: string): Promise<Found> {
  const [definition] = await loadDefinitions(source)
  if (definition === undefined) throw new Error(`${source} has no workflow`)
  return { definition, source }
}

/** Starts what is found as the options say, and drives it. */
export async function start(invocation: Invocation, find: () => Promise<Found>): Promise<number> {
  const { args, out, dir } = invocation
  const owned = args.flag('owned')
  if (args.flag('detach') && !owned) {
    const { detach } = await import('../detach.ts')
    await trustProject(dir, out)
    return detach(invocation)
  }
  const { announce } = owned ? await import('../detach.ts') : { announce: undefined }
  try {
    // Everything that can be wrong with the call is found before there is a database.
    const wanted = await readCall(invocation, find)
    const project = await openProject(dir, out)
    try {
      return await driveNew(invocation, project, { ...wanted, announce })
    } finally {
      await project.host.close()
    }
  } catch (error) {
    announce?.({ error })
    throw error
  }
}

type Announce = (said: { readonly run: string } | { readonly error: unknown }) => void

async function driveNew(
  invocation: Invocation,
  { host, config }: Project,
  wanted: Wanted & { readonly announce: Announce | undefined },
): Promise<number> {
  const { args, out } = invocation
  const { definition, input, more, announce } = wanted
  const driver = await Driver.open(host, out, { yes: args.flag('yes'), detached: args.flag('owned') })
  let outcome
  try {
    const budget = { ...config?.budget, ...definition.options.budget, ...more.budget }
    const handle = await host.start(definition, input, Object.keys(budget).length === 0 ? more : { ...more, budget })
    announce?.({ run: handle.id })
    outcome = await driver.until(handle)
  } finally {
    driver.close()
  }
  return report(out, outcome)
}

async function readCall({ args }: Invocation, find: () => Promise<Found>): Promise<Wanted> {
  const text = args.text('input')
  const budget = args.text('budget')
  const params = parsePairs(args.texts('param'), '--param')
  const limits = budget === undefined ? {} : { budget: parseBudget(budget) }
  const { definition, source } = await find()
  const more: StartMore = {
    ...(source === undefined ? {} : { source }),
    ...limits,
    ...(Object.keys(params).length === 0 ? {} : { params }),
  }
  return { definition, more, input: text === undefined ? undefined : await readInput(text) }
}
