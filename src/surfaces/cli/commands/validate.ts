/** `nerve validate`. */
import { checkFile, problemText } from '../../../host/file-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'

export async function run({ args, out }: Invocation): Promise<number> {
  const file = args.words[0] ?? ''
  const { definitions, problems, unchecked } = await checkFile(file)
  const ok = problems.length === 0
  out.data({ file, ok, definitions, problems, unchecked })
  for (const problem of problems) out.line(problemText(problem))
  if (unchecked.length > 0)
    out.line(
      `${file} brings no files of nodes (nodes: ./nodes.ts), so these names were not checked: ${unchecked.join(', ')}`,
    )
  out.line(
    ok
      ? `${out.tone('valid', 'good')}  ${definitions.join(', ')}`
      : `${out.tone(`${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`, 'bad')}`,
  )
  return ok ? EXIT.done : EXIT.failed
}
