// Installs the peers into bench/peers when they are missing or not what the lockfile says. Never touches the product's packages.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const PEERS = join(import.meta.dirname, '..', 'peers')
const STAMP = join(PEERS, 'node_modules', '.nerve-bench-installed')

const wanted = (): string =>
  createHash('sha256')
    .update(readFileSync(join(PEERS, 'package-lock.json')))
    .digest('hex')

const peersInstalled = (): boolean => existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted()

/** Returns undefined when the peers are there, otherwise a sentence that says why not. */
export function installPeers(say: (line: string) => void): string | undefined {
  if (peersInstalled()) return undefined
  say('Installing the peers into bench/peers (npm ci, about 600 packages, once)')
  // Our own Node goes first in the path: packages that look at the Node they are installed by must see the one they run on.
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`
  const windows = process.platform === 'win32'
  const npm = spawnSync(windows ? 'npm.cmd' : 'npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: PEERS,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    shell: windows,
  })
  if (npm.status === 0) {
    writeFileSync(STAMP, wanted())
    return undefined
  }
  const why = npm.error?.message ?? reasons(npm.stderr)
  return `npm ci in bench/peers failed: ${why}`
}

/** What npm said, without where this machine gets its packages from. */
function reasons(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/^npm (error|ERR!)\s*/, '').replaceAll(/https?:\/\/\S+/g, '<url>'))
  const telling = lines.filter((line) => /^(code|errno|network|notarget|request|EUSAGE|\d{3} )/.test(line))
  return (telling.length > 0 ? telling : lines.filter((line) => line !== '')).slice(0, 3).join('; ').slice(0, 300)
}
