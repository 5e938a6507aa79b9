/**
 * What the tests use of the system beside Node: installed where that is possible without asking (Debian, as root), and named
 * where it is not, so that nobody wonders why tests were skipped. Never fails: a skipped test says so itself.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The program that tests look for, and the Debian package it is in. */
const WANTED: Readonly<Record<string, string>> = {
  zsh: 'zsh',
  fish: 'fish',
  bwrap: 'bubblewrap',
  python3: 'python3',
  tmux: 'tmux',
  curl: 'curl',
  nc: 'netcat-openbsd',
  vim: 'vim',
  strace: 'strace',
  chromium: 'chromium',
  // Big, and used by the long tests alone.
  ...(process.argv.includes('--long') ? { kitty: 'kitty', Xvfb: 'xvfb' } : {}),
}

function isHere(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function install(packages: readonly string[]): string | undefined {
  if (process.getuid?.() !== 0 || !isHere('apt-get')) return 'only root on Debian installs them by itself'
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args: readonly string[]) => spawnSync('apt-get', args, { env, encoding: 'utf8', timeout: 180_000 })
  const wanted = ['install', '-y', '-q', '--no-install-recommends', ...packages]
  if (apt(...wanted).status === 0) return undefined
  // The lists of packages may be missing or old.
  apt('update', '-q')
  const again = apt(...wanted)
  return again.status === 0 ? undefined : again.stderr.trim().split('\n').at(-1)
}

const missing = Object.keys(WANTED).filter((program) => !isHere(program))
const problem = missing.length === 0 ? undefined : install(missing.map((program) => WANTED[program] ?? program))
const left = missing.filter((program) => !isHere(program))
if (left.length === 0) console.log(missing.length === 0 ? 'all there' : `installed: ${missing.join(', ')}`)
else console.log(`MISSING: ${left.join(', ')} (${problem ?? 'unknown'}). Tests that need them are skipped, and say so.`)
