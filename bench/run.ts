// `npm run bench`: Nerve against the floors and the peers, in one run. See BENCHMARKS.md for how it is measured.
import { writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { judge, probeSurprises, type Bar } from './harness/bars.ts'
import { buildNerve } from './harness/built.ts'
import { installPeers } from './harness/install.ts'
import { HELP, parseOptions, type Options } from './harness/options.ts'
import { measureAll, plan, progressLine, type Circumstances } from './harness/rounds.ts'
import { isPeer } from './harness/adapters.ts'
import { summarise, type Summary } from './harness/summary.ts'
import { renderTable, renderTables } from './harness/table.ts'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

const machine = () => ({
  node: process.versions.node,
  sqlite: process.versions['sqlite'] ?? '?',
  system: `${platform()} ${release()} ${arch()}`,
  processor: cpus()[0]?.model ?? '?',
  cores: availableParallelism(),
  memoryGb: Math.round(totalmem() / 2 ** 30),
})

/** A whole run shows every bar, also those that could not be measured; a part of it shows what it measured. */
function printBars(bars: readonly Bar[], options: Options): void {
  const shown = isWhole(options) ? bars : bars.filter((bar) => bar.verdict !== 'not measured')
  const rows = shown.map((bar) => [bar.name, bar.measured, bar.wanted, bar.verdict, bar.detail])
  const title = options.quick ? '## Bars (quick run: small sizes, one round; shown, not judged)' : '## Bars'
  console.log(`\n${title}\n\n${renderTable(['bar', 'measured', 'wanted', 'verdict', 'where'], rows)}`)
}

const isWhole = ({ only, peers, quick }: Options): boolean => only === undefined && peers === undefined && !quick

function printHead({ options, missing, entry }: Circumstances, summary: Summary): void {
  const { node, sqlite, system, processor, cores, memoryGb } = machine()
  console.log(`# Nerve benchmark\n`)
  console.log(
    `Node ${node}, SQLite ${sqlite}, ${system}, ${cores} cores (${processor}), ${memoryGb} GB; rounds: ${options.rounds}`,
  )
  const versions = Object.entries(summary.versions).filter(([name]) => name !== 'node' && name !== 'sqlite')
  console.log(`Peers: ${versions.map(([name, version]) => `${name} ${version}`).join(', ') || 'none'}\n`)
  if (entry === undefined) console.log('!! Nerve could not be built: these are figures of its sources.\n')
  if (missing !== undefined)
    console.log(`!! THE PEERS WERE NOT RUN: ${missing}\n!! Every comparison with them is missing below.\n`)
}

function verdict(options: Options, bars: readonly Bar[]): number {
  const notMet = bars.filter((bar) => bar.verdict === 'NOT MET')
  const notMeasured = bars.filter((bar) => bar.verdict === 'not measured')
  console.log(
    `\n${bars.filter((bar) => bar.verdict === 'met').length} bars met, ${notMet.length} not met, ${notMeasured.length} not measured.`,
  )
  if (options.quick) return 0
  return notMet.length > 0 || (isWhole(options) && notMeasured.length > 0) ? 1 : 0
}

async function main(options: Options): Promise<number> {
  const began = Date.now()
  const needsPeers = plan(options).some((entry) => entry.series.some(isPeer))
  const missing = needsPeers ? installPeers(say) : undefined
  if (missing !== undefined) say(`!! The peers are NOT RUN: ${missing}`)
  const load = loadavg()[0] ?? 0
  if (load > 1) say(`The machine is busy (load ${load.toFixed(1)}): trust the ratios, not the times.`)
  const built = await buildNerve()
  if (built.problem !== undefined) say(`!! Nerve could not be built, so the sources are measured: ${built.problem}`)
  const around: Circumstances = { options, missing, entry: built.entry }
  const cells = await measureAll(around, (progress) => say(progressLine(progress)))
  built.remove()
  const summary = summarise(cells)
  const bars = judge(summary)
  printHead(around, summary)
  console.log(renderTables(summary))
  printBars(bars, options)
  for (const surprise of probeSurprises(summary)) console.log(`\n!! ${surprise}`)
  if (options.json !== undefined) {
    const { json, ...asked } = options
    const seconds = Math.round((Date.now() - began) / 1000)
    const head = { generated: new Date().toISOString(), seconds, load, machine: machine(), options: asked }
    writeFileSync(
      json,
      `${JSON.stringify({ ...head, bars, ...summary, cells }, null, 1)}
`,
    )
  }
  return verdict(options, bars)
}

let options: Options
try {
  options = parseOptions(process.argv.slice(2))
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exit(2)
}
if (options.help) console.log(HELP)
else process.exitCode = await main(options)
