/** `nerve wezterm …`: panes as they are. */
import { resolve } from 'node:path'
import { NerveError, isNerveError } from '../../../base/nerve-error.ts'
import { weztermPanes, type PaneInfo, type PanePort } from '../../../host/pane-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { keyNamed } from '../keys.ts'
import { oneLine } from '../printable.ts'
import { readText, wholeNumber } from '../values.ts'

type Verb = (invocation: Invocation, panes: PanePort) => Promise<void>

export async function run(invocation: Invocation): Promise<number> {
  const { args, command } = invocation
  const panes = weztermPanes({ program: args.text('program'), socket: args.text('socket') })
  try {
    await VERBS[command.slice('wezterm '.length) as keyof typeof VERBS](invocation, panes)
  } catch (error) {
    throw withWayOut(error)
  } finally {
    await panes.close()
  }
  return EXIT.done
}

/** The port speaks to programs. */
function withWayOut(error: unknown): unknown {
  if (!isNerveError(error, 'pane-failed') || error.data['reason'] !== 'missing') return error
  const { code, data } = error
  const message = `${String(data['program'])} was not found. Install WezTerm, or name the program: --program FILE`
  return new NerveError(code, message, { data, cause: error })
}

const VERBS = {
  async list({ out }, panes) {
    const found = await panes.list()
    out.data(found)
    const ids = Math.max(4, ...found.map(({ id }) => id.length))
    out.line(out.tone(`${'PANE'.padEnd(ids)}  ${'SIZE'.padEnd(7)}  TITLE`, 'dim'))
    for (const pane of found) out.line(paneLine(pane, ids))
  },
  async spawn({ args, out, cwd }, panes) {
    const [file = process.env['SHELL'] ?? '/bin/sh', ...rest] = args.words
    const folder = resolve(cwd, args.text('cwd') ?? '.')
    const pane = await panes.spawn({ cwd: folder, cols: 80, rows: 24, file, args: rest })
    out.data({ pane })
    out.line(pane)
  },
  async send({ args, out }, panes) {
    const [pane = '', text] = args.words
    const keys = args.texts('key').map(keyNamed).join('')
    if (text === undefined && keys === '') throw new UsageError('nerve wezterm send: what? Give TEXT or --key KEY.')
    await there(panes, pane)
    await panes.send(pane, `${text === undefined ? '' : await readText(text)}${keys}`)
    out.data({ pane })
    out.line(`typed into ${pane}`)
  },
  async read({ args, out }, panes) {
    const [pane = ''] = args.words
    const above = wholeNumber(args.text('above') ?? '0', '--above')
    await there(panes, pane)
    const { lines, rows, cursor } = await panes.look(pane, above)
    out.data({ pane, lines, rows, cursor })
    out.line(lines.join('\n').trimEnd())
  },
  async kill({ args, out }, panes) {
    const [pane = ''] = args.words
    checkId(pane)
    await panes.kill(pane)
    out.data({ pane })
    out.line(`${pane} has ended`)
  },
} satisfies Readonly<Record<string, Verb>>

function paneLine({ id, cols, rows, title, cwd, active }: PaneInfo, width: number): string {
  const size = `${cols}x${rows}`.padEnd(7)
  return `${id.padEnd(width)}  ${size}  ${oneLine(title)}${cwd === undefined ? '' : `  ${oneLine(cwd)}`}${active ? '  *' : ''}`
}

async function there(panes: PanePort, pane: string): Promise<void> {
  checkId(pane)
  if ((await panes.list()).some(({ id }) => id === pane)) return
  throw new NerveError('not-found', `There is no pane ${pane}. See: nerve wezterm list`, { data: { pane } })
}

/** What begins with a dash would be an option of WezTerm. */
function checkId(pane: string): void {
  if (!/^\d+$/.test(pane)) throw new UsageError(`'${pane}' is not the id of a pane. See: nerve wezterm list`)
}
