/** Where keys, logins and everything that opens other doors usually are: what a sandbox hides without being told. */
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** In a home folder. Those of agents are here too: each has its own login, and sees only that. */
const IN_HOME: readonly string[] = [
  '.ssh',
  '.gnupg',
  '.password-store',
  '.local/share/keyrings',
  '.netrc',
  '.git-credentials',
  '.config/git/credentials',
  '.config/gh',
  '.aws',
  '.azure',
  '.config/gcloud',
  '.kube',
  '.docker',
  '.terraform.d',
  '.vault-token',
  '.config/op',
  '.npmrc',
  '.pypirc',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.gem/credentials',
  '.mozilla',
  '.config/google-chrome',
  '.config/chromium',
  '.claude',
  '.claude.json',
  '.codex',
  '.copilot',
  '.gemini',
  '.local/share/opencode',
]

/** The folder of a project's runs: with the socket in it, everything could be started that a host can start. */
const RUNS = '.nerve'

/** They need not be there. */
export function secretPlaces(cwd: string, env: Readonly<Record<string, string>>): readonly string[] {
  const homes = new Set([homedir(), env['HOME'] ?? homedir()])
  const places = [...homes].flatMap((home) => IN_HOME.map((name) => join(home, name)))
  for (let folder = cwd; ; folder = dirname(folder)) {
    places.push(join(folder, RUNS))
    if (dirname(folder) === folder) return places
  }
}
