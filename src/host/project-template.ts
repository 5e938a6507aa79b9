/** The files of a new project. What they say is run by the tests of `nerve init`. */
import { readFileSync } from 'node:fs'

export interface ProjectFile {
  /** From the project folder, with slashes. */
  readonly path: string
  readonly text: string
}

export type CodeEnding = 'ts' | 'mts'

export const PACKAGE: ProjectFile = {
  path: 'package.json',
  text: `${JSON.stringify({ private: true, type: 'module' }, undefined, 2)}\n`,
}

/** Copies of what the package has, so that editors find them wherever Nerve is installed. They are Nerve's own. */
export function schemaFiles(): readonly ProjectFile[] {
  // As far from the root of the package here as in the built files.
  const folder = new URL('../../schema/', import.meta.url)
  return ['nerve-spec.schema.json', 'nerve-agent.schema.json'].map((name) => ({
    path: `.nerve/schema/${name}`,
    text: readFileSync(new URL(name, folder), 'utf8'),
  }))
}

export function configTemplate(ending: CodeEnding): ProjectFile {
  return {
    path: `nerve.config.${ending}`,
    text: `import { config } from 'nerve/config'
import { bash } from 'nerve/nodes'

/** The nodes of this project. Workflows and specs refer to them by name; so does \`nerve node execute greet\`. */
export default config({
  nodes: [bash('greet', { command: 'echo hello' })],
  defaults: { budget: { usd: 5 } },
})
`,
  }
}

export function helloTemplate(ending: CodeEnding): ProjectFile {
  return {
    path: `workflows/hello.${ending}`,
    text: `import { workflow } from 'nerve'

/** nerve run workflows/hello.${ending} --input Ada */
export default workflow('hello', { description: 'greets somebody when a person says so' }, async (ctx, name: unknown) => {
  // What a step returns is recorded: after a crash it is not done again.
  const text = await ctx.step('write', () => \`Hello \${typeof name === 'string' ? name : 'there'}\`)
  // Without a terminal the run parks here, for as long as it takes: nerve inbox, nerve answer last yes
  const answer = await ctx.ask(\`Say "\${text}"?\`, { choices: ['yes', 'no'] })
  if (answer === 'no') return 'nothing was said'
  return ctx.step('say', () => text)
})
`,
  }
}

export const SPEC: ProjectFile = {
  path: 'workflows/check.yaml',
  text: `# yaml-language-server: $schema=../.nerve/schema/nerve-spec.schema.json
# nerve run workflows/check.yaml
nerve: 1
name: check
description: the same kind of thing as data, with a node of nerve.config
steps:
  - id: greeting
    node: greet
`,
}

export const AGENT: ProjectFile = {
  path: 'agents/reviewer.yaml',
  text: `# yaml-language-server: $schema=../.nerve/schema/nerve-agent.schema.json
# In code: (await loadAgents('agents')).get('reviewer'), from 'nerve/agents'
description: reads, and changes nothing
use: claude
prompt: You review changes. Say what is wrong and where, and change nothing.
`,
}

export const HINTS: ProjectFile = {
  path: 'AGENTS.md',
  text: `# For coding agents

This project runs durable workflows with Nerve. They are in \`workflows\`; nodes are in \`nerve.config\`.

- \`nerve workflow list\` tells what can be run, \`nerve explain FILE\` what is in it, \`nerve validate FILE\` what is wrong with it.
- \`nerve run FILE --input JSON --json\` runs it. Exit codes: 0 done, 1 failed, 2 usage, 3 waits for a person, 4 budget spent,
  5 cancelled.
- \`nerve inbox\` lists questions. They are for people: answer one (\`nerve answer QUESTION VALUE\`) only when you were told to.
- \`nerve show last\` and \`nerve events last --json\` tell what happened. \`nerve resume last\` goes on after a crash.
- \`nerve help COMMAND --json\` is the help as data.
- In a workflow, effects belong into \`ctx.step\`. What is between steps runs again after a crash and has to do the same:
  time, randomness and ids come from \`ctx\`.
`,
}
