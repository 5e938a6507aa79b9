/** `nerve ralph`. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { nearest } from '../../../base/nearest.ts'
import {
  SCRIPTED,
  agentNames,
  builtInSource,
  ralphCommand,
  type RalphCommandInput,
  type RalphResult,
} from '../../../host/library-api.ts'
import type { Budget } from '../../../journal/events.ts'
import type { Invocation } from '../dispatch.ts'
import { watchOwn } from '../drive-command.ts'
import { Driver } from '../driver.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { codeOf, report, type Outcome } from '../outcome.ts'
import { me, openProject } from '../project.ts'
import { isLocal, tellOfDifferences } from '../project-daemon.ts'
import type { DaemonHost } from '../run-host.ts'
import { startIn } from '../start-in.ts'
import { parseBudget } from '../values.ts'
import { daemonFor, leave } from './run.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { args, out, dir } = invocation
  const input = readCall(invocation)
  const given = args.text('budget')
  const wanted = given === undefined ? {} : parseBudget(given)
  if (args.flag('detach') && isLocal())
    throw new UsageError('--detach: a run in the background is in the daemon, not --local.')
  const source = builtInSource(ralphCommand.name)
  const target = { file: source, load: () => Promise.resolve(ralphCommand) }
  const daemon = await daemonFor(invocation, target)
  if (daemon !== undefined) {
    try {
      return await inDaemon(invocation, daemon, { source, input, budget: wanted })
    } finally {
      await daemon.close()
    }
  }
  const { host, config } = await openProject(dir, out)
  const driver = await Driver.open(host, out, { yes: args.flag('yes') })
  let outcome: Outcome
  try {
    const budget = { ...config?.budget, ...wanted }
    const handle = await host.start(ralphCommand, input, {
      ...me(),
      source,
      ...(Object.keys(budget).length === 0 ? {} : { budget }),
    })
    outcome = await driver.until(handle)
  } finally {
    driver.close()
    await host.close()
  }
  report(out, outcome)
  return ending(invocation, outcome)
}

async function inDaemon(
  invocation: Invocation,
  host: DaemonHost,
  { source, input, budget }: { readonly source: string; readonly input: RalphCommandInput; readonly budget: Budget },
): Promise<number> {
  const { args, out } = invocation
  tellOfDifferences(host, invocation.dir)
  const id = await startIn(host, {
    file: source,
    input,
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
  })
  if (args.flag('detach')) return leave(invocation, host, id)
  let last: Outcome | undefined
  const code = await watchOwn(host, out, await host.run(id), {
    yes: args.flag('yes'),
    onOutcome: (outcome) => {
      last = outcome
    },
  })
  return last === undefined ? code : ending(invocation, last)
}

/** Says by what Ralph has stopped: only tests that pass are a success. */
function ending({ out }: Invocation, outcome: Outcome): number {
  const code = codeOf(outcome)
  if (outcome.row.status === 'exhausted') out.line('Ralph stopped (budget): what it may spend is spent.')
  if (outcome.end?.type !== 'run-completed') return code
  const { stopped, why } = outcome.end.output as RalphResult
  out.line(`Ralph stopped (${stopped}): ${why}`)
  return stopped === 'tests-pass' ? code : EXIT.failed
}

function readCall({ args, cwd, dir }: Invocation): RalphCommandInput {
  const folder = resolve(cwd, args.text('cwd') ?? '.')
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new UsageError(`--cwd: there is no folder ${args.text('cwd') ?? folder}.`)
  if (args.flag('pr')) checkRemote(folder)
  const model = args.text('model')
  const max = args.text('max')
  return {
    task: args.words[0] ?? '',
    agent: agentNamed(args.text('agent')),
    cwd: folder,
    dir,
    test: args.text('test') ?? testOf(folder),
    ...(model === undefined ? {} : { model }),
    ...(max === undefined ? {} : { max: countOf('--max', max) }),
    ...(args.flag('yes') ? { allowAll: true } : {}),
    ...(args.flag('pr') ? { pullRequest: true } : {}),
    ...(args.flag('sandbox') ? { sandboxed: true } : {}),
  }
}

function agentNamed(name: string | undefined): string {
  const known = [...agentNames, SCRIPTED]
  if (name !== undefined && known.includes(name)) return name
  const meant = name === undefined ? undefined : nearest(name, known)
  const hint = meant === undefined ? `Give one of: ${known.join(', ')}.` : `Did you mean '${meant}'?`
  throw new UsageError(name === undefined ? `--agent: which agent? ${hint}` : `--agent: there is no '${name}'. ${hint}`)
}

function countOf(option: string, text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new UsageError(`${option}: ${text} is not a whole number from 1.`)
}

/** Not when everything is built and paid for. */
function checkRemote(folder: string): void {
  const { status } = spawnSync('git', ['-C', folder, 'remote', 'get-url', 'origin'])
  if (status !== 0)
    throw new UsageError(`--pr: ${folder} is not in a git repository with a remote 'origin', so nothing can be pushed.`)
}

/** Without evidence Ralph would never know that it is done. */
function testOf(folder: string): string {
  const file = join(folder, 'package.json')
  if (existsSync(file) && hasTests(file)) return 'npm test'
  throw new UsageError('--test: which command runs the tests? Its success is how Ralph knows that it is done.')
}

function hasTests(file: string): boolean {
  try {
    const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { readonly scripts?: { readonly test?: string } }
    return scripts?.test !== undefined
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}. Correct it, or say --test.`)
  }
}
