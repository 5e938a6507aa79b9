/** `nerve gateway start`, `status`, `log` and `show`. */
import { resolve } from 'node:path'
import { showDuration } from '../../../base/duration.ts'
import {
  agentSettings,
  exchange,
  exchanges,
  gatewayFolder,
  gatewayStatus,
  startGateway,
  type AgentSettings,
  type GatewayChoice,
  type LoggedExchange,
} from '../../../host/gateway-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { brief, oneLine } from '../printable.ts'
import { wholeNumber } from '../values.ts'

export async function run(invocation: Invocation): Promise<number> {
  switch (invocation.command) {
    case 'gateway start':
      return start(invocation)
    case 'gateway status':
      return status(invocation)
    case 'gateway show':
      return show(invocation)
    default:
      return log(invocation)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

async function start(invocation: Invocation): Promise<number> {
  const { args, out, dir } = invocation
  const port = wholeNumber(args.text('port') ?? '0', '--port')
  const gateway = await startGateway(dir, choiceOf(invocation), { port, onProblem: (error) => out.error(error) })
  const stopped = new Promise<void>((stop) => {
    for (const signal of SIGNALS) process.once(signal, () => stop())
  })
  const given = process.env['NERVE_GATEWAY_TOKEN']
  try {
    const { token } = gateway.token(given === undefined || given === '' ? {} : { token: given })
    const agents = agentSettings(gateway.url, token)
    out.data({ url: gateway.url, port: gateway.port, token, log: gatewayFolder(dir), agents })
    for (const line of pointers(gateway.url, token, agents)) out.line(line)
    await stopped
  } finally {
    await gateway.close()
  }
  return EXIT.done
}

function choiceOf({ args, cwd }: Invocation): GatewayChoice {
  const given = ['script', 'provider', 'replay'].filter((name) => args.flag(name))
  if (given.length !== 1)
    throw new UsageError(
      'nerve gateway start: who answers? Give one of --script FILE, --provider NAME, --replay FOLDER.',
    )
  const path = (name: string): string | undefined => {
    const text = args.text(name)
    return text === undefined ? undefined : resolve(cwd, text)
  }
  const options = Object.fromEntries(
    ['url', 'format', 'key', 'model'].flatMap((name) => {
      const text = args.text(name)
      return text === undefined ? [] : [[name, text]]
    }),
  )
  const name = args.text('provider')
  if (name === undefined && Object.keys(options).length > 0)
    throw new UsageError(`nerve gateway start: --${Object.keys(options).join(', --')}: only with --provider.`)
  const found = {
    script: path('script'),
    replay: path('replay'),
    record: path('record'),
    provider: name === undefined ? undefined : { name, ...options },
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

function pointers(url: string, token: string, agents: readonly AgentSettings[]): string[] {
  const lines = agents.flatMap(({ agent, env, note }) => {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    return [
      `  ${agent.padEnd(14)} ${variables.join(' ')}`,
      ...(note === undefined ? [] : [`  ${' '.repeat(14)} ${note}`]),
    ]
  })
  return [
    `The gateway is at ${url}`,
    `Its token is ${token}`,
    '',
    ...lines,
    '',
    'Ctrl-C ends it. Calls: nerve gateway log',
  ]
}

async function status({ out, dir }: Invocation): Promise<number> {
  const found = await gatewayStatus(dir)
  out.data(found)
  if (found.length === 0) out.line('No gateway runs in this project. Start one: nerve gateway start --script FILE')
  for (const { url, pid, backends, open, started } of found) {
    const calls = open === undefined ? out.tone('does not answer', 'bad') : `${open} open`
    out.line(
      `${url}  ${calls}  process ${pid}  since ${showDuration(Date.now() - started)}  ${oneLine(backends.join(', '))}`,
    )
  }
  return EXIT.done
}

async function log({ args, out, dir }: Invocation): Promise<number> {
  const limit = wholeNumber(args.text('limit') ?? '50', '--limit', 1)
  const wanted = args.text('run')
  const all = await exchanges(dir)
  const found = all
    .filter(({ run: of }) => wanted === undefined || of?.startsWith(wanted) === true)
    .slice(-Math.max(1, limit))
  for (const { request: _request, reply: _reply, ...one } of found) out.data(one)
  if (found.length === 0) out.line('No calls are logged here.')
  for (const one of found) out.line(lineOf(one))
  return EXIT.done
}

function lineOf(one: LoggedExchange): string {
  const { id, at, model = '?', durationMs, failure, aborted, run: of, path } = one
  const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ')
  const ended =
    failure === undefined ? (aborted === true ? 'left' : String(one.status)) : `${one.status} ${failure.kind}`
  const where = of === undefined ? '' : `${of}${path === undefined ? '' : ` ${path}`}`
  return [id, time, brief(model, 28).padEnd(20), ended.padEnd(4), showDuration(durationMs), costs(one), where]
    .join('  ')
    .trimEnd()
}

function costs({ usage, usd, estimated }: LoggedExchange): string {
  if (usage === undefined) return '-'
  const dollars = usd === null || usd === undefined ? 'price not known' : `$${usd.toFixed(4)}`
  return `${estimated === true ? 'about ' : ''}${usage.input} in, ${usage.output} out, ${dollars}`
}

async function show({ args, out, dir }: Invocation): Promise<number> {
  const one = await exchange(dir, args.words[0] ?? '')
  const { request, reply, ...rest } = one
  out.data(one)
  out.line(lineOf(one))
  for (const [name, value] of Object.entries(rest))
    out.line(`  ${name.padEnd(12)} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  if (request !== undefined) out.line(`\nasked\n${pretty(request)}`)
  if (reply !== undefined) out.line(`\nanswered\n${pretty(reply)}`)
  return EXIT.done
}

function pretty(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2)
  try {
    return JSON.stringify(JSON.parse(value), null, 2)
  } catch {
    return value
  }
}
