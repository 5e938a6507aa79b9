#!/usr/bin/env node
/** The command `nerve`. Imports next to nothing, so that --help and --version answer at once. */
// As a whole: an older Node, which has to be told that it is too old, does not load a file that imports what it lacks.
import module from 'node:module'
import { demandOwnEnd, endProcess } from './end-process.ts'
import { version } from './version.ts'

const OLDEST_NODE = [22, 19] as const

/** Node 22 calls type stripping and SQLite experimental; a person running a workflow has no use for those lines. */
function quietExperiments(): void {
  const warn = process.emitWarning.bind(process) as (...all: unknown[]) => void
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    const [kind] = rest
    const name = typeof kind === 'object' && kind !== null ? (kind as { type?: unknown }).type : kind
    if (name === 'ExperimentalWarning' && /^(Type Stripping|SQLite) is/.test(String(warning))) return
    warn(warning, ...rest)
  }
}

function nodeIsTooOld(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])
}

async function main(argv: readonly string[]): Promise<number> {
  const [first] = argv
  if (first === '--version' || first === '-v' || first === '-V' || first === 'version') {
    console.log(argv.includes('--json') ? JSON.stringify({ version: version(), node: process.version }) : version())
    return 0
  }
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    const { helpFor } = await import('./help.ts')
    return helpFor(argv.slice(1), version())
  }
  if (nodeIsTooOld()) {
    console.error(`nerve needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.version}.`)
    return 2
  }
  quietExperiments()
  demandOwnEnd(argv.includes('--json'))
  // Commands load a hundred files or so: parsed once, they start in a third of the time.
  module.enableCompileCache()
  const { dispatch } = await import('./dispatch.ts')
  return dispatch(argv)
}

/** Whatever a workflow left open (timers, sockets) must not keep the command from ending; what was printed must arrive. */
function leave(code: number): void {
  // Undoes what redirected it for the workflow.
  Reflect.deleteProperty(process.stdout, 'write')
  const exit = (): never => endProcess(lost && code === 0 ? 1 : code)
  // A write that failed is told of after its callback.
  process.stdout.write('', () => process.stderr.write('', () => setImmediate(exit)))
}

/** True when something could not be printed although somebody wants it, as on a full disk. */
let lost = false
// A run does not end because what it says cannot be heard.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE' || lost) return
  lost = true
  process.stderr.write(`nerve: the output could not be written: ${error.message}\n`)
})
process.stderr.on('error', () => undefined)
leave(await main(process.argv.slice(2)))
