/** Where a command writes. Owns stdout: with --json, what a workflow prints itself goes to stderr and cannot break it. */
import { NerveError, errorData, withoutStack } from '../../base/nerve-error.ts'
import { UsageError } from './exit-code.ts'
import { clean, cleanPainted, said, toJson } from './printable.ts'
import { paint, type Tone } from './style.ts'

export interface Output {
  readonly json: boolean
  readonly verbose: boolean
  readonly color: boolean
  /** A terminal that can redraw. */
  readonly live: boolean
  /** A terminal with somebody at it. */
  readonly interactive: boolean
  /** Writes as it is, past any redirection. */
  readonly write: (text: string) => void
  /** What is in it may come from anywhere: it gets to the terminal without what would change that. */
  line(text?: string): void
  /** Only with --json: one document, or one line of many. */
  data(value: unknown): void
  tone(text: string, tone: Tone): string
  error(error: unknown): void
}

export function createOutput(options: { readonly json: boolean; readonly verbose: boolean }): Output {
  const { json, verbose } = options
  const { env, stdout, stdin } = process
  const write = (text: string): void => void stdout.write(text)
  const original = stdout.write.bind(stdout)
  const direct = json ? (text: string) => void original(text) : write
  if (json) stdout.write = process.stderr.write.bind(process.stderr)
  const capable = stdout.isTTY && env['TERM'] !== 'dumb' && !isSet(env['CI'])
  const live = capable && !json
  const color = !json && !isSet(env['NO_COLOR']) && (stdout.isTTY ? env['TERM'] !== 'dumb' : isSet(env['FORCE_COLOR']))
  return {
    json,
    verbose,
    color,
    live,
    interactive: live && stdin.isTTY,
    write: direct,
    line: (text = '') => {
      if (!json) direct(`${color ? cleanPainted(text) : clean(text)}\n`)
    },
    data: (value) => {
      if (json) direct(`${toJson(value) ?? 'null'}\n`)
    },
    tone: (text, tone) => paint(text, tone, color),
    error: (error) => void process.stderr.write(`${errorText(error, options)}\n`),
  }
}

function isSet(variable: string | undefined): boolean {
  return variable !== undefined && variable !== '' && variable !== '0' && variable !== 'false'
}

/** Errors that people can do something about are one line; whatever else happened keeps its name. */
function errorText(error: unknown, options: { readonly json: boolean; readonly verbose: boolean }): string {
  const { json, verbose } = options
  const known = error instanceof NerveError || error instanceof UsageError
  const data = errorData(error)
  if (json) {
    const { code = 'unexpected', message, data: more, stack } = verbose ? data : withoutStack(data)
    const rest = { ...(more === undefined ? {} : { data: more }), ...(stack === undefined ? {} : { stack }) }
    return JSON.stringify({ error: { code, message, ...rest } })
  }
  const text = said(known ? data.message : `${data.name}: ${data.message}`)
  return clean(`${text}${verbose ? stacks(error) : ''}`)
}

function stacks(error: unknown): string {
  return error instanceof Error ? `\n${error.stack ?? ''}${stacks(error.cause)}` : ''
}
