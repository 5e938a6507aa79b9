/** The workflow: workers fix the same bug in copies of a repository, a reviewer picks, a person approves. */
import { join } from 'node:path'
import { workflow } from 'nerve'
import type { AgentNode } from 'nerve/agents'
import { bash, quote } from 'nerve/nodes'

export interface Team {
  readonly workers: readonly { readonly name: string; readonly agent: AgentNode; readonly folder: string }[]
  readonly reviewer: AgentNode<{ pick: string; why: string }>
  /** The repository with the bug. */
  readonly repository: string
}

interface Work {
  readonly name: string
  readonly said: string
  readonly passes: boolean
  readonly files: readonly string[]
  readonly lines: number
}

export const team = ({ workers, reviewer, repository }: Team) =>
  workflow('three-agents', async (ctx, task: string) => {
    const works = await ctx.map(
      workers,
      async ({ name, agent, folder }, index): Promise<Work> => {
        const shell = bash('shell', { cwd: folder, check: false, effect: 'repeatable' })
        const { text } = await ctx.run(agent, `You are ${name}, worker number ${index + 1}. ${task}`, { label: 'fix' })
        const { exitCode } = await ctx.run(shell, 'node --test', { label: 'test' })
        const { stdout } = await ctx.run(shell, 'git add -A && git diff --cached --numstat', { label: 'diff' })
        const changes = stdout
          .trim()
          .split('\n')
          .map((line) => line.split('\t'))
        const lines = changes.reduce((sum, [added, removed]) => sum + Number(added) + Number(removed), 0)
        return { name, said: text, passes: exitCode === 0, files: changes.map(([, , file = '']) => file), lines }
      },
      { key: ({ name }) => name, label: 'workers' },
    )
    const { data: verdict } = await ctx.run(reviewer, reviewText(task, works), { label: 'review' })
    const folder = workers.find(({ name }) => name === verdict?.pick)?.folder
    if (folder === undefined) return { works, verdict, answer: 'none', passes: false }
    const answer = await ctx.ask(`Merge the fix of ${verdict?.pick}? The reviewer says: ${verdict?.why}.`, {
      choices: ['merge', 'discard'],
    })
    if (answer !== 'merge') return { works, verdict, answer, passes: false }
    const here = bash('merge', { cwd: repository, effect: 'repeatable', check: false })
    const merge = `git -C ${quote(folder)} commit -qm fix; git pull -q ${quote(join(folder, '.git'))} main && node --test`
    const { exitCode } = await ctx.run(here, merge)
    return { works, verdict, answer, passes: exitCode === 0 }
  })

function reviewText(task: string, works: readonly Work[]): string {
  const parts = works.map(
    ({ name, said, passes, files, lines }) =>
      `## ${name}\ntests: ${passes ? 'pass' : 'fail'}\nfiles: ${files.join(', ')}\nlines: ${lines}\nIt says: ${said}`,
  )
  return (
    `Several agents were told: ${task}\n\n${parts.join('\n\n')}\n\nWhich work should be merged? Tests that were changed ` +
    'prove nothing. Answer with nothing but JSON: { "pick": "the name", "why": "in a sentence" }.'
  )
}
