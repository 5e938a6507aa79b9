/** Shell commands as nodes: on pipes, with limits, and with an end to everything they start. */
import { resolve } from 'node:path'
import { checkKnown } from '../base/check-known.ts'
import { systemClock } from '../base/clock.ts'
import { milliseconds, type Duration } from '../base/duration.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { Node } from '../engine/definition.ts'
import type { Effect } from '../journal/events.ts'
import { checkEnvironment, commandEnvironment } from './bash-environment.ts'
import { checkTexts, forkable, wholeNumber, type Execution } from './forkable.ts'
import { runProcess, type Ended } from './process.ts'
import { checkSandbox, enterSandbox, type Sandbox } from './sandbox.ts'

export interface BashOptions<Input = unknown> {
  readonly description?: string
  /** What is run, or what makes it of the input. Without it, the input is the command. */
  readonly command?: string | ((input: Input) => string)
  /** What the command reads (default: nothing, not even a terminal). */
  readonly stdin?: string | Uint8Array | ((input: Input) => string | Uint8Array)
  /** The folder it runs in (default: that of the process). */
  readonly cwd?: string
  /** Variables for the command, beside the few that every program expects. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of further variables of this process that the command gets, when they are set. */
  readonly inherit?: readonly string[]
  /** The shell (default `bash`): a name in the PATH of the command, or a path. It is given `-c COMMAND`. */
  readonly shell?: string
  /** For each execution. Unlike the `timeout` of a step, the next attempt waits until everything has ended. */
  readonly timeout?: Duration
  /** How long a command that is to end may take before it is killed (default 2s). */
  readonly grace?: Duration
  /** Bytes of each stream that the result holds: the last ones (default 1 MiB). */
  readonly maxOutput?: number
  /** Bytes of each stream that go to a file when there are more than the result holds (default 1 GiB). */
  readonly maxSpill?: number
  /** Where such files are made (default: the folder for temporary files). */
  readonly spillDir?: string
  /** Exit codes that are a success (default 0). */
  readonly okCodes?: readonly number[]
  /** False when every end, also by a signal, is a result and not a failure (default true). */
  readonly check?: boolean
  /** What becomes of processes that the command leaves running when it ends (default `kill`). */
  readonly background?: 'kill' | 'keep'
  /** What may happen to a command that was in flight at a crash (default `once`: a person is asked). */
  readonly effect?: Effect
  readonly sandbox?: Sandbox
}

export interface BashResult {
  readonly stdout: string
  readonly stderr: string
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  readonly signal: string | null
  readonly durationMs: number
  /** True when a stream had more than the result holds: it is the end of it then. */
  readonly truncated?: true
  /** Files with the raw bytes of a stream: when it was cut, or when it is not UTF-8. */
  readonly spill?: { readonly stdout?: string; readonly stderr?: string }
  /** Bytes that are in no file either. */
  readonly dropped?: number
}

const OPTIONS: readonly (keyof BashOptions)[] = [
  'description',
  'command',
  'stdin',
  'cwd',
  'env',
  'inherit',
  'shell',
  'timeout',
  'grace',
  'maxOutput',
  'maxSpill',
  'spillDir',
  'okCodes',
  'check',
  'background',
  'effect',
  'sandbox',
]

const MIB = 1024 * 1024
/** One string of JavaScript cannot hold much more. */
const MOST_OUTPUT = 256 * MIB
const TAIL = 2_000

/**
 * A node that runs a shell command. The exit code decides whether it failed; stderr does not.
 *
 * ```ts
 * import { bash } from 'nerve/nodes'
 *
 * const test = bash('test', { command: 'npm test', timeout: '10m' })
 * ```
 */
export function bash(
  id: string,
  options?: BashOptions<string> & { readonly command?: undefined },
): Node<string, BashResult>
export function bash<Input = unknown>(
  id: string,
  options: BashOptions<Input> & { readonly command: string | ((input: Input) => string) },
): Node<Input, BashResult>
export function bash<Input>(id: string, options: BashOptions<Input> = {}): Node<Input, BashResult> {
  check(`bash '${id}'`, options)
  const { description, effect = 'once' } = options
  return forkable<Input, BashResult>(id, {
    kind: 'bash',
    description,
    policy: { effect, recordInput: true },
    execute: (input, execution) => execute(options, input, execution),
  })
}

/** Text as one word of a shell command, whatever is in it. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function check<Input>(what: string, options: BashOptions<Input>): void {
  checkKnown(what, options, OPTIONS)
  checkTexts(what, options, ['description', 'cwd', 'shell', 'spillDir'])
  const { command, stdin, timeout, grace, maxOutput, maxSpill, okCodes, background, sandbox } = options
  const wrong = (text: string): never => {
    throw new NerveError('bad-option', `${what}: ${text}`)
  }
  if (command !== undefined && typeof command !== 'string' && typeof command !== 'function')
    wrong('command must be text, or a function that makes it of the input.')
  const readable = typeof stdin === 'string' || typeof stdin === 'function' || stdin instanceof Uint8Array
  if (stdin !== undefined && !readable) wrong('stdin must be text, bytes, or a function that makes them of the input.')
  if (timeout !== undefined) milliseconds(timeout, `${what}: timeout`)
  if (grace !== undefined) milliseconds(grace, `${what}: grace`)
  if (wholeNumber(`${what}: maxOutput`, maxOutput, 0) > MOST_OUTPUT)
    wrong(`maxOutput is ${maxOutput}, at most ${MOST_OUTPUT}. The whole output is in the spilled file.`)
  wholeNumber(`${what}: maxSpill`, maxSpill, 0)
  if (okCodes !== undefined && !(Array.isArray(okCodes) && okCodes.every(Number.isInteger)))
    wrong('okCodes must be a list of exit codes.')
  if (background !== undefined && background !== 'kill' && background !== 'keep')
    wrong(`background is ${JSON.stringify(background)}; give 'kill' or 'keep'.`)
  checkEnvironment(what, options)
  checkSandbox(what, sandbox ?? 'none')
}

async function execute<Input>(options: BashOptions<Input>, input: Input, execution: Execution): Promise<BashResult> {
  const { id, call, signal } = execution
  const { cwd = '.', shell = 'bash', timeout, grace = '2s', maxOutput = MIB, maxSpill = 1024 * MIB } = options
  const command = commandOf(id, options, input)
  const place = { cwd: resolve(cwd), env: commandEnvironment(process.env, options) }
  const enter = await enterSandbox(options.sandbox ?? 'none', place)
  const late = new AbortController()
  const limit = timeout === undefined ? undefined : milliseconds(timeout)
  const disarm =
    limit === undefined ? undefined : systemClock.at(Date.now() + limit, () => late.abort(tooLate(id, limit)))
  try {
    const done = await runProcess({
      ...enter({ file: shell, args: shellArguments(shell, command) }),
      ...place,
      stdin: stdinOf(id, options, input),
      maxOutput,
      maxSpill,
      spillDir: options.spillDir,
      key: call.key,
      graceMs: milliseconds(grace),
      background: options.background ?? 'kill',
      signal: AbortSignal.any([signal, late.signal]),
      onText: (stream, text) => call.emit(stream, text),
    })
    if ('ended' in done) throw stopped(done.reason, resultOf(done.ended))
    return judged(id, options, resultOf(done))
  } finally {
    disarm?.()
  }
}

function commandOf<Input>(id: string, { command }: BashOptions<Input>, input: Input): string {
  const made: unknown = typeof command === 'function' ? command(input) : (command ?? input)
  if (typeof made === 'string' && made.trim() !== '' && !made.includes('\0')) return made
  const given =
    typeof made === 'string' ? 'empty, or has a zero byte' : `${made === null ? 'null' : typeof made}, not text`
  throw new NerveError(
    'bad-input',
    `The command of bash '${id}' is ${given}. Give it as the option command, or as the input of the step.`,
  )
}

function stdinOf<Input>(id: string, { stdin }: BashOptions<Input>, input: Input): string | Uint8Array | undefined {
  const made: unknown = typeof stdin === 'function' ? stdin(input) : stdin
  if (made === undefined || typeof made === 'string' || made instanceof Uint8Array) return made
  throw new NerveError('bad-input', `The stdin of bash '${id}' is a ${typeof made}; it must be text or bytes.`)
}

/** Files that a person's shell reads at its start are not for programs. */
function shellArguments(shell: string, command: string): string[] {
  const plain = /(^|\/)bash$/.test(shell) ? ['--noprofile', '--norc'] : []
  return [...plain, '-c', command]
}

function resultOf({ stdout, stderr, exitCode, signal, durationMs }: Ended): BashResult {
  const spill = {
    ...(stdout.spill === undefined ? {} : { stdout: stdout.spill }),
    ...(stderr.spill === undefined ? {} : { stderr: stderr.spill }),
  }
  const dropped = stdout.dropped + stderr.dropped
  return {
    stdout: stdout.text,
    stderr: stderr.text,
    exitCode,
    signal,
    durationMs,
    ...(stdout.truncated || stderr.truncated ? { truncated: true } : {}),
    ...(Object.keys(spill).length === 0 ? {} : { spill }),
    ...(dropped === 0 ? {} : { dropped }),
  }
}

function judged<Input>(
  id: string,
  { okCodes = [0], check: checked = true }: BashOptions<Input>,
  result: BashResult,
): BashResult {
  const { exitCode, signal } = result
  if (!checked || (exitCode !== null && okCodes.includes(exitCode))) return result
  const how = exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`
  const said = lastLine(result.stderr) ?? lastLine(result.stdout)
  const hint = said === undefined ? 'It said nothing.' : `It said last: ${said}`
  throw new NerveError('command-failed', `The command of bash '${id}' ${how}. ${hint}`, {
    retry: 'later',
    data: { reason: exitCode === null ? 'signal' : 'exit', ...tails(result) },
  })
}

/** What stopped it, with what it had said until then. */
function stopped(reason: unknown, result: BashResult): unknown {
  if (!(reason instanceof NerveError)) return reason
  const { code, message, retry, data, cause } = reason
  return new NerveError(code, message, { retry, cause, data: { ...data, ...tails(result) } })
}

function tails({ stdout, stderr, ...rest }: BashResult): Readonly<Record<string, unknown>> {
  return { stdout: stdout.slice(-TAIL), stderr: stderr.slice(-TAIL), ...rest }
}

function lastLine(text: string): string | undefined {
  return text.trimEnd().split('\n').at(-1)?.trim().slice(0, 200) || undefined
}

function tooLate(id: string, limit: number): NerveError {
  return new NerveError('timeout', `The command of bash '${id}' did not end within ${limit} ms. It was ended.`, {
    retry: 'later',
    data: { reason: 'timeout' },
  })
}
