// The command line of `npm run bench`.
import { parseArgs } from 'node:util'
import { MATRIX } from './matrix.ts'

export interface Options {
  readonly only: readonly string[] | undefined
  readonly peers: readonly string[] | undefined
  readonly rounds: number
  readonly quick: boolean
  readonly json: string | undefined
  readonly timeout: number
  readonly help: boolean
}

export const HELP = `npm run bench -- [options]

  --only W1,W4a     only these workloads (see below)
  --peers a,b       only these series: a peer ("langgraph") or one of its variants ("langgraph:sqlite");
                    the floors (bare, raw) and Nerve are measured as well
  --rounds N        how many times every cell is measured, each in a process of its own (default 3)
  --quick           small sizes, one round, few peers: a smoke run of about a minute; bars are shown but not judged
  --json FILE       also write everything to FILE
  --timeout S       seconds that a cell may take (default 60)
  --help            this text

Exit code: 0 all bars met, 1 a bar is not met or could not be measured, 2 wrong usage.

Workloads:
${MATRIX.map((workload) => `  ${workload.id.padEnd(5)} ${workload.title}`).join('\n')}
`

const list = (text: string | undefined): string[] | undefined => text?.split(',').map((item) => item.trim())

export function parseOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string' },
      peers: { type: 'string' },
      rounds: { type: 'string' },
      timeout: { type: 'string' },
      json: { type: 'string' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const options = {
    only: list(values.only),
    peers: list(values.peers),
    rounds: positive('rounds', values.rounds, values.quick ? 1 : 3),
    quick: values.quick,
    json: values.json,
    timeout: positive('timeout', values.timeout, 60),
    help: values.help,
  }
  check(options)
  return options
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0, not '${text}'`)
  return value
}

function check({ only, peers }: Pick<Options, 'only' | 'peers'>): void {
  const workloads = new Set(MATRIX.map((workload) => workload.id))
  for (const id of only ?? [])
    if (!workloads.has(id)) throw new Error(`--only: there is no workload '${id}'. See --help.`)
  const known = new Set(
    MATRIX.flatMap((workload) => workload.series).flatMap((series) => [series, series.split(':')[0]]),
  )
  for (const name of peers ?? []) if (!known.has(name)) throw new Error(`--peers: there is no series '${name}'`)
}
