/** `nerve completion`: the scripts of shells, and what they ask. */
import { projectValues } from '../completion-values.ts'
import { SCRIPTS } from '../completion-scripts.ts'
import { suggestions } from '../completion-words.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { clean, oneLine } from '../printable.ts'

/** What one line of a shell can show beside a value. */
const MOST_ABOUT = 70

export async function run({ args, out, cwd, table }: Invocation): Promise<number> {
  const [shell = '', ...words] = args.words
  // For the scripts; words that begin with a dash come after `--`.
  if (shell === 'words') {
    const all = await suggestions(words, { table, values: projectValues(cwd) })
    out.data(all)
    for (const { value, about } of all) {
      // Names and choices come from anywhere: what would change the terminal, or is more than a line, is not shown.
      if (clean(value) !== value || /[\n\t]/.test(value)) continue
      out.line(about === undefined ? value : `${value}\t${oneLine(about).slice(0, MOST_ABOUT)}`)
    }
    return EXIT.done
  }
  const script = SCRIPTS[shell]
  if (script === undefined || words.length > 0)
    throw new UsageError(`nerve completion: for which shell? Give one of ${Object.keys(SCRIPTS).join(', ')}.`)
  out.data({ shell, script })
  if (!out.json) out.write(script)
  return EXIT.done
}
