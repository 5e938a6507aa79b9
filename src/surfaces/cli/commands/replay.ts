/** `nerve replay`. */
import { NerveError } from '../../../base/nerve-error.ts'
import { loadDefinitions, type AnyDefinition, type Host, type RunRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { oneLine } from '../printable.ts'
import { inThisProcess, withRun } from '../project.ts'

export function run({ args, out, dir, cwd: _cwd }: Invocation): Promise<number> {
  const [wanted = '', file] = args.words
  const replay = async (host: Host, row: RunRow): Promise<number> => {
    const definition = file === undefined ? undefined : await definitionIn(file, row.definition)
    const replayed = await host.replay(row.run, definition)
    out.data({ run: row.run, ...replayed })
    out.line(
      replayed.same
        ? `${out.tone('same', 'good')}  ${row.definition}  ${row.run}  ${replayed.plan.keep} recorded outcomes`
        : `${out.tone('differs', 'bad')}  ${row.definition}  ${row.run}`,
    )
    for (const problem of replayed.problems) out.line(`  ${oneLine(problem)}`)
    return replayed.same ? EXIT.done : EXIT.failed
  }
  return withRun(dir, wanted, replay, inThisProcess(out))
}

async function definitionIn(file: string, name: string): Promise<AnyDefinition> {
  const found = await loadDefinitions(file)
  const definition = found.find((one) => one.name === name)
  if (definition !== undefined) return definition
  const names = found.map((one) => `'${one.name}'`).join(', ')
  throw new NerveError(
    'definition-missing',
    `${file} has no workflow '${name}', which the run needs. It has: ${names}.`,
  )
}
