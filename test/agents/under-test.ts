/**
 * The agents of vendors as the tests use them: where their packages are, what they need to reach a scripted model on loopback and
 * nothing else, and what they cannot do. `scripts/vendors.ts` brings the packages; the test commands run it.
 */
import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  acpAgent,
  claudeAgent,
  codexAgent,
  copilotAgent,
  geminiAgent,
  opencodeAgent,
  type AgentAdapter,
} from 'nerve/agents'

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const PACKAGES = join(ROOT, 'vendors', 'node_modules')

export interface Place {
  /** An empty folder outside of the folders for temporary files: some agents refuse those. */
  readonly home: string
  readonly gateway: { readonly url: string; readonly token: string }
}

export interface VendorAgent {
  /** A file without which it cannot be tried. */
  readonly file: string
  readonly adapter: AgentAdapter
  readonly env: (place: Place) => Readonly<Record<string, string>>
  readonly model?: string
  /** Whether its session is on disk, for one that writes it down a moment after it has begun with it. */
  readonly written?: (home: string, session: string) => boolean
  /** It is told its model by its variables, and not by the adapter. */
  readonly ownGateway?: boolean
  /** Cases of the suite that it cannot do, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>
}

const machine = `${process.platform}-${process.arch}`
const PATH = process.env['PATH'] ?? ''
const files = {
  claude: join(PACKAGES, '@anthropic-ai/claude-agent-sdk/sdk.mjs'),
  codex: join(PACKAGES, `@openai/codex-${machine}`, 'vendor/x86_64-unknown-linux-musl/bin/codex'),
  copilot: join(PACKAGES, '@github/copilot-sdk/dist/index.js'),
  gemini: join(PACKAGES, '@google/gemini-cli/bundle/gemini.js'),
  opencode: join(PACKAGES, `opencode-${machine}`, 'bin/opencode'),
}

/** Without the last it asks the npm registry once, for packages of its own. */
const opencodeEnv = ({ home }: Place) => ({ PATH, HOME: home, npm_config_registry: 'http://127.0.0.1:9' })

export const AGENTS = {
  claude: {
    file: files.claude,
    adapter: claudeAgent({ sdk: files.claude }),
    written: (home, session) => globSync(join(home, 'claude', 'projects', '*', `${session}.jsonl`)).length > 0,
    env: ({ home }) => ({
      PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: folder(home, 'claude'),
      CLAUDE_CODE_MAX_RETRIES: '1',
    }),
  },
  codex: {
    file: files.codex,
    adapter: codexAgent({ command: files.codex }),
    model: 'gpt-5-codex',
    env: ({ home }) => {
      const own = folder(home, 'codex')
      // Its sandbox would leave an empty .git in the folder for temporary files, which then looks like a project.
      const settings = '[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n'
      writeFileSync(join(own, 'config.toml'), settings)
      // It makes nothing to start its sandbox with where temporary files are, and this checkout may be there.
      return { PATH, HOME: home, CODEX_HOME: own, TMPDIR: folder(home, 'tmp') }
    },
  },
  copilot: {
    file: files.copilot,
    adapter: copilotAgent({ sdk: files.copilot }),
    model: 'gpt-5',
    env: ({ home }) => ({ PATH, HOME: home, COPILOT_HOME: folder(home, 'copilot') }),
  },
  opencode: {
    file: files.opencode,
    adapter: opencodeAgent({ command: files.opencode }),
    env: opencodeEnv,
  },
  gemini: {
    file: files.gemini,
    adapter: geminiAgent({ command: process.execPath, args: [files.gemini] }),
    // The one that it would choose asks another model first which one to take.
    model: 'gemini-2.5-pro',
    env: ({ home }) => {
      const settings = {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        // When it is told that it asks too often, it would try again for more than three minutes.
        general: { maxAttempts: 1 },
      }
      writeFileSync(join(folder(home, '.gemini'), 'settings.json'), JSON.stringify(settings))
      return { PATH, HOME: home, GEMINI_CLI_TRUST_WORKSPACE: 'true' }
    },
  },
  'opencode over ACP': {
    file: files.opencode,
    adapter: acpAgent({
      name: 'opencode-acp',
      command: files.opencode,
      args: ['acp'],
      capabilities: { resume: true, fork: true },
      folders: (env) =>
        ['.local/share', '.local/state', '.config', '.cache'].map((one) => join(env['HOME'] ?? '', one, 'opencode')),
      compact: '/compact',
    }),
    ownGateway: true,
    skip: {
      'does not do what is denied, and goes on': 'a denial ends its turn, and the protocol has no place for a reason',
      'tells that its context is full': 'over ACP it ends such a turn as if nothing had been wrong',
    },
    env: (place) => ({
      ...opencodeEnv(place),
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: 'fake/fake',
        small_model: 'fake/fake',
        enabled_providers: ['fake'],
        permission: { '*': 'ask' },
        provider: {
          fake: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${place.gateway.url}/v1`, apiKey: place.gateway.token },
            models: { fake: { limit: { context: 200_000, output: 8_000 } } },
          },
        },
      }),
    }),
  },
} as const satisfies Readonly<Record<string, VendorAgent>>

export type AgentName = keyof typeof AGENTS

export function agentNamed(name: AgentName): VendorAgent {
  return AGENTS[name]
}

/** Why an agent cannot be tried here; undefined when it can. */
export function missing({ file }: VendorAgent): string | undefined {
  return existsSync(file) ? undefined : `not installed: ${file}`
}

function folder(home: string, name: string): string {
  const made = join(home, name)
  mkdirSync(made, { recursive: true })
  return made
}
