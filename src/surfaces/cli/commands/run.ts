/** `nerve run` and `nerve graph run`. */
import { resolve } from 'node:path'
import { loadDefinitions, type AnyDefinition, type StartMore } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { watchOwn } from '../drive-command.ts'
import { Driver } from '../driver.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { report } from '../outcome.ts'
import { Prints } from '../prints.ts'
import { me, openProject, type Project } from '../project.ts'
import { hasDied, isLocal, runningDaemon, startedDaemon, tellOfDifferences } from '../project-daemon.ts'
import type { DaemonHost } from '../run-host.ts'
import { startIn } from '../start-in.ts'
import { parseBudget, parsePairs, readInput } from '../values.ts'

/** What is to be run: a definition by its name, or a file that has it. */
export interface Target {
  readonly name?: string
  readonly file?: string
  /** Loads it into this process. */
  readonly load: () => Promise<AnyDefinition>
}

export function run(invocation: Invocation): Promise<number> {
  return start(invocation, () => Promise.resolve(firstIn(resolve(invocation.cwd, invocation.args.words[0] ?? ''))))
}

export function firstIn(file: string): Target {
  return {
    file,
    load: async () => {
      const [definition] = await loadDefinitions(file)
      if (definition === undefined) throw new Error(`${file} has no workflow`)
      return definition
    },
  }
}

/** Starts what is found as the options say: in the daemon, or in this process, and shows it. */
export async function start(invocation: Invocation, find: () => Promise<Target>): Promise<number> {
  const { args, out, dir } = invocation
  const detach = args.flag('detach')
  if (detach && isLocal()) throw new UsageError('--detach: a run in the background is in the daemon, not --local.')
  // Everything that can be wrong with the call is found before there is a database.
  const call = await readCall(invocation)
  const target = await find()
  const daemon = await daemonFor(invocation, target)
  if (daemon !== undefined) {
    try {
      return await startThere(invocation, daemon, { target, call })
    } finally {
      await daemon.close()
    }
  }
  const definition = await target.load()
  const project = await openProject(dir, out)
  try {
    return await driveNew(invocation, project, { definition, target, call })
  } finally {
    await project.host.close()
  }
}

/** One that runs is used; one is started for what is to outlive this command, if that can be run at all. */
export async function daemonFor({ args, out, dir }: Invocation, target: Target): Promise<DaemonHost | undefined> {
  const running = await runningDaemon(dir)
  const wanted = args.flag('detach') || out.interactive || hasDied(dir)
  if (running !== undefined || isLocal() || !wanted) return running
  await target.load()
  return startedDaemon(dir, out)
}

interface Call {
  readonly input: { readonly input?: unknown }
  readonly more: Pick<StartMore, 'budget' | 'params'>
}

async function startThere(
  invocation: Invocation,
  host: DaemonHost,
  { target: { name, file }, call: { input, more } }: { readonly target: Target; readonly call: Call },
): Promise<number> {
  const { args } = invocation
  tellOfDifferences(host, invocation.dir)
  const prints = args.flag('detach') ? undefined : await Prints.open(host)
  const id = await startIn(host, {
    ...(name === undefined ? {} : { definition: name }),
    ...(file === undefined ? {} : { file }),
    ...input,
    ...(more as { params?: Record<string, unknown> }),
  })
  if (prints === undefined) return leave(invocation, host, id)
  return watchOwn(host, invocation.out, await host.run(id), { yes: args.flag('yes'), prints })
}

/** The run goes on without this command. */
export async function leave({ args, out, dir }: Invocation, host: DaemonHost, id: string): Promise<number> {
  if (args.flag('yes')) {
    const { answerInBackground } = await import('../answer-in-background.ts')
    answerInBackground(dir, id)
  }
  const { pid } = host.daemon.record
  out.data({ run: id, pid })
  out.line(id)
  return EXIT.done
}

async function driveNew(
  { args, out }: Invocation,
  { host, config }: Project,
  { definition, target, call }: { readonly definition: AnyDefinition; readonly target: Target; readonly call: Call },
): Promise<number> {
  const driver = await Driver.open(host, out, { yes: args.flag('yes') })
  let outcome
  try {
    const budget = { ...config?.budget, ...definition.options.budget, ...call.more.budget }
    const handle = await host.start(definition, call.input.input, {
      ...me(),
      ...call.more,
      ...(target.file === undefined ? {} : { source: target.file }),
      ...(Object.keys(budget).length === 0 ? {} : { budget }),
    })
    outcome = await driver.until(handle)
  } finally {
    driver.close()
  }
  return report(out, outcome)
}

async function readCall({ args }: Invocation): Promise<Call> {
  const text = args.text('input')
  const budget = args.text('budget')
  const params = parsePairs(args.texts('param'), '--param')
  return {
    more: {
      ...(budget === undefined ? {} : { budget: parseBudget(budget) }),
      ...(Object.keys(params).length === 0 ? {} : { params }),
    },
    input: text === undefined ? {} : { input: await readInput(text) },
  }
}
