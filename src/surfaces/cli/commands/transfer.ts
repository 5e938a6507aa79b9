/** `nerve export` and `nerve import`. */
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { openHost, withRun } from '../project.ts'
import { readFileOrStdin } from '../values.ts'

export function run(invocation: Invocation): Promise<number> {
  return invocation.command === 'export' ? exportRun(invocation) : importRun(invocation)
}

function exportRun({ args, out, dir }: Invocation): Promise<number> {
  return withRun(dir, args.words[0] ?? '', async (host, row) => {
    out.write(await host.export(row.run))
    return EXIT.done
  })
}

async function importRun({ args, out, dir }: Invocation): Promise<number> {
  const file = args.words[0] ?? ''
  const text = await readFileOrStdin(file)
  const host = await openHost(dir)
  try {
    const { id } = await host.import(text)
    const { status, definition } = await host.run(id)
    out.data({ run: id, status })
    out.line(`imported  ${definition}  ${id}  ${status}`)
    return EXIT.done
  } finally {
    await host.close()
  }
}
