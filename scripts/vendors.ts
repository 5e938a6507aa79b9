/**
 * The agents of vendors that the tests drive: installed from `vendors/package-lock.json` into `vendors/node_modules`, without install
 * scripts, by the test command only. They are 1.4 GB, so nothing else waits for them.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = join(dirname(dirname(fileURLToPath(import.meta.url))), 'vendors')
const STAMP = join(FOLDER, 'node_modules', '.nerve-lock')

function wanted(): string {
  const lock = readFileSync(join(FOLDER, 'package-lock.json'))
  return `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`
}

function isCurrent(): boolean {
  try {
    return readFileSync(STAMP, 'utf8') === wanted()
  } catch {
    return false
  }
}

function install(): string | undefined {
  const cli = process.env['npm_execpath'] ?? ''
  const [command, first] = cli.endsWith('npm-cli.js') ? [process.execPath, [cli]] : ['npm', []]
  // Not `ci`: the lockfile cannot name packages for other machines that the registry does not have.
  const args = [...first, 'install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, error } = spawnSync(command, args, { cwd: FOLDER, stdio: ['ignore', 2, 2], timeout: 600_000 })
  if (status !== 0) return error === undefined ? `npm ended with ${status ?? 'a signal'}` : error.message
  writeFileSync(STAMP, wanted())
  return undefined
}

if (isCurrent()) console.log('the agents for the tests are there')
else {
  const problem = install()
  if (problem === undefined) console.log('installed the agents for the tests')
  else {
    console.log(
      `The agents for the tests could not be installed (${problem}). This needs the npm registry once; afterwards it works offline. ` +
        'Check the network and `npm config get registry`, then run the same command again.',
    )
    process.exitCode = 1
  }
}
