/** `nerve ralph`. */
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
import type { Invocation } from '../dispatch.ts'
import { Driver } from '../driver.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { report } from '../outcome.ts'
import { openProject } from '../project.ts'
import { parseBudget } from '../values.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { args, out, dir } = invocation
  const input = readCall(invocation)
  const given = args.text('budget')
  const wanted = given === undefined ? {} : parseBudget(given)
  const { host, config } = await openProject(dir, out)
  const driver = await Driver.open(host, out, { yes: args.flag('yes') })
  let outcome
  try {
    const budget = { ...config?.budget, ...wanted }
    const source = builtInSource(ralphCommand.name)
    const handle = await host.start(
      ralphCommand,
      input,
      Object.keys(budget).length === 0 ? { source } : { source, budget },
    )
    outcome = await driver.until(handle)
  } finally {
    driver.close()
    await host.close()
  }
  const code = report(out, outcome)
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

/** Without evidence Ralph would never know that it is done. */
function testOf(folder: string): string {
  const file = join(folder, 'package.json')
  if (existsSync(file)) {
    const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { readonly scripts?: { readonly test?: string } }
    if (scripts?.test !== undefined) return 'npm test'
  }
  throw new UsageError('--test: which command runs the tests? Its success is how Ralph knows that it is done.')
}
