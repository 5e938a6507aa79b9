/** `nerve trust`. */
import { resolve } from 'node:path'
import { distrustFolder, trustFolder, trustedFolders } from '../../../host/node-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { oneLine } from '../printable.ts'
import { folderNamed } from '../project-folder.ts'

export async function run({ args, out, dir, cwd }: Invocation): Promise<number> {
  if (args.flag('list')) {
    if (args.words.length > 0 || args.flag('revoke')) throw new UsageError('nerve trust: --list stands alone.')
    const all = trustedFolders()
    out.data(all)
    if (all.length === 0) out.line('Nothing is trusted.')
    for (const { folder, changed } of all)
      out.line(`${oneLine(folder)}${changed ? '  (its project file has changed since)' : ''}`)
    return EXIT.done
  }
  const [given] = args.words
  const revoked = args.flag('revoke')
  const folder = given === undefined ? dir : revoked ? resolve(cwd, given) : folderNamed(cwd, given, 'DIR')
  const had = revoked ? distrustFolder(folder) : (trustFolder(folder), true)
  out.data({ folder, trusted: !revoked })
  out.line(`${oneLine(folder)} ${revoked ? (had ? 'is no longer trusted' : 'was not trusted') : 'is trusted'}.`)
  return EXIT.done
}
