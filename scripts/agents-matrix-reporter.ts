/**
 * Writes docs/agents-matrix.md: what every agent does and does not do, as the tests of `npm run test:agents` found it. Only a run of
 * all of them writes it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule } from 'vitest/node'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const FILE = join(ROOT, 'docs', 'agents-matrix.md')
const FILES = ['acp', 'claude', 'codex', 'copilot', 'gemini', 'killed', 'opencode', 'scripted']
const SKIPPED = / \(skipped: (.*)\)$/
/** The other packages that the tests bring are no agents. */
const AGENT_PACKAGE = /claude|codex|copilot|gemini|opencode/

interface Found {
  readonly agent: string
  readonly what: string
  readonly state: string
  readonly why: string | undefined
}

function found(modules: readonly TestModule[]): readonly Found[] {
  return modules.flatMap((module) =>
    [...module.children.allTests()].flatMap((test) => {
      if (test.parent.type !== 'suite' || !FILES.includes(fileName(module))) return []
      const [, killed] = /^the host of (.*) is killed$/.exec(test.parent.name) ?? []
      const why = SKIPPED.exec(test.name)?.[1]
      const what = `${killed === undefined ? '' : 'goes on after its host was killed '}${test.name.replace(SKIPPED, '')}`
      const agent = killed ?? test.parent.name.replace(/^the scripted agent$/, 'scripted')
      return [{ agent, what, state: test.result().state, why }]
    }),
  )
}

function fileName({ moduleId }: TestModule): string {
  return basename(moduleId).replace(/(\.matrix)?\.test\.ts$/, '')
}

const SIGNS: Readonly<Record<string, string>> = { passed: 'yes', failed: '**failed**', skipped: '–' }

export function matrix(all: readonly Found[], versions: Readonly<Record<string, string>>): string {
  const agents = [...new Set(all.map(({ agent }) => agent))].toSorted()
  const whats = [...new Set(all.map(({ what }) => what))]
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const cell = (agent: string, what: string): string => {
    const one = all.find((each) => each.agent === agent && each.what === what)
    return one === undefined ? '' : (SIGNS[one.state] ?? one.state)
  }
  const skips = all.flatMap(({ agent, what, why }) => (why === undefined ? [] : [`- ${agent}, ${what}: ${why}.`]))
  return [
    '# What each agent does',
    '',
    'Written by `npm run test:agents`: the conformance suite and the crash tests, run on the real programs with a scripted model on loopback. Why an agent lacks something is in [agents](guide/agents.md).',
    '',
    ...Object.entries(versions).map(([name, version]) => `- ${name} ${version}`),
    '',
    row(['', ...agents]),
    row(['', ...agents].map(() => '---')),
    ...whats.map((what) => row([what, ...agents.map((agent) => cell(agent, what))])),
    '',
    '## Why not',
    '',
    ...skips.toSorted(),
    '',
  ].join('\n')
}

export default class AgentsMatrixReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = new Set(modules.map(fileName))
    const all = found(modules)
    const whole =
      FILES.every((name) => files.has(name)) && all.every(({ state, why }) => state !== 'skipped' || why !== undefined)
    if (!whole) return
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'vendors', 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    const agents = Object.entries(dependencies).filter(([name]) => AGENT_PACKAGE.test(name))
    writeFileSync(FILE, matrix(all, Object.fromEntries(agents)))
  }
}
