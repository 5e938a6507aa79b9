/** What Ralph tells its agent. Each turn is a new session, so each prompt says everything; the rest is in the folder. */
import { isNerveError } from '../../base/nerve-error.ts'
import type { Feature } from './features.ts'

export interface TestResult {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

const MOST_OUTPUT = 4_000

export function researchText(task: string): string {
  return (
    `# Research\n\nThe task is:\n\n${task}\n\nDo not change anything yet. Look at this folder: what is there, how it is built ` +
    'and tested, which parts the task is about, and what could go wrong. Answer with your findings, shortly.'
  )
}

export interface SpecFacts {
  readonly task: string
  readonly research: string
  /** The last spec and what is to be different. */
  readonly before?: { readonly spec: string; readonly notes: string }
}

export function specText({ task, research, before }: SpecFacts): string {
  const again =
    before === undefined
      ? ''
      : `\n\n## Your last spec\n${before.spec}\n\n## What a person wants to be different\n${before.notes}`
  return (
    `# Spec\n\nThe task is:\n\n${task}\n\n## What is known\n${research}${again}\n\n` +
    'Write the spec: what will be true when the task is done, and how a test shows it. Change no files; answer with the spec.'
  )
}

export function featuresText(task: string, spec: string): string {
  return (
    `# Features\n\nThe task is:\n\n${task}\n\n## The spec\n${spec}\n\nSplit it into features that can be built one after the ` +
    'other, each small enough for one sitting; one is enough for a small task. Change no files. Answer with nothing but a JSON ' +
    'array: [{ "id": "short-name", "text": "what it does" }].'
  )
}

export interface WorkFacts {
  readonly task: string
  readonly spec: string
  readonly feature: Feature
  readonly features: readonly Feature[]
  /** How the tests last failed. */
  readonly failure: string | undefined
}

export function implementText({ task, spec, feature, features, failure }: WorkFacts): string {
  const list = features.map(({ id, text, status }) => `- ${id} (${status}): ${text}`).join('\n')
  const last = failure === undefined ? '' : `\n\n## How the tests failed last\n${failure}`
  const report = feature.report === undefined ? '' : `\n\n## Report on the last try\n${feature.report}`
  return (
    `# Implement: ${feature.id}\n\nThe task is:\n\n${task}\n\n## The spec\n${spec}\n\n## The features\n${list}${last}${report}\n\n` +
    `Build the feature ${feature.id} in this folder, with a test for it, and nothing else. Do not weaken tests. Do not commit or ` +
    'push. The tests are run when you are done. Say in a few sentences what you have changed.'
  )
}

export function debugText({ task, feature }: Pick<WorkFacts, 'task' | 'feature'>, failure: string): string {
  return (
    `# Debug: ${feature.id}\n\nThe task is:\n\n${task}\n\nThe feature that was being built: ${feature.text}\n\n` +
    `## How the tests fail\n${failure}\n\nChange nothing. Find out why. Answer with a short report: what fails, the most likely ` +
    'cause, and what to try next.'
  )
}

/** Tests that do not end have failed: what was built may be what keeps them. Every other error is not about the work. */
export function lateResult(error: unknown): TestResult {
  if (error !== undefined && !isNerveError(error, 'timeout')) throw error
  const { stdout = '', stderr = '' } = (error?.data ?? {}) as Partial<TestResult>
  return { exitCode: null, stdout, stderr: `${stderr}\n${error?.message ?? 'The tests did not end in time.'}` }
}

/** The end of what the tests printed is where they say what failed. */
export function failureText({ exitCode, stdout, stderr }: TestResult): string {
  const said = [stdout, stderr].map((text) => text.trim()).filter((text) => text !== '')
  return `exit code ${exitCode ?? 'none'}\n${said.join('\n').slice(-MOST_OUTPUT)}`
}
