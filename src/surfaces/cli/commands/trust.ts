/** `nerve trust`. */
import { NerveError } from '../../../base/nerve-error.ts'
import { configFile } from '../../../host/api.ts'
import { distrustFile, trustFile, trustedFiles } from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { oneLine } from '../printable.ts'
import { projectFolder } from '../project-folder.ts'

export async function run({ args, out, dir, cwd }: Invocation): Promise<number> {
  if (args.flag('list')) {
    if (args.words.length > 0 || args.flag('revoke')) throw new UsageError('nerve trust: --list stands alone.')
    const all = trustedFiles()
    out.data(all)
    if (all.length === 0) out.line('Nothing is trusted.')
    for (const { file, changed } of all) out.line(`${oneLine(file)}${changed ? '  (changed since)' : ''}`)
    return EXIT.done
  }
  const [given] = args.words
  const folder = given === undefined ? dir : projectFolder(cwd, given)
  const file = configFile(folder)
  if (file === undefined)
    throw new NerveError('not-found', `There is no nerve.config.ts in ${folder}: there is nothing to trust.`)
  const revoked = args.flag('revoke')
  const had = revoked ? distrustFile(file) : (trustFile(file), true)
  out.data({ file, trusted: !revoked })
  out.line(`${oneLine(file)} ${revoked ? (had ? 'is no longer trusted' : 'was not trusted') : 'is trusted'}.`)
  return EXIT.done
}
