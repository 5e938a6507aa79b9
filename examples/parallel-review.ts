/**
 * Review many files at once, two at a time. Each file keeps its result: kill the process and run
 * `nerve resume --all`, and no reviewed file is reviewed again.
 *
 *     nerve run examples/parallel-review.ts --input '{"files":["a.ts","b.ts","c.ts"]}'
 */
import { workflow } from 'nerve'

interface Review {
  readonly file: string
  readonly verdict: 'fine' | 'look again'
}

async function read(file: string): Promise<string> {
  return `the text of ${file}`
}

/** Stands in for a model: says what it spent, and does not always answer at once. */
async function judge(text: string, reviewer: string): Promise<boolean> {
  return !text.includes('b.ts') || reviewer !== 'strict'
}

export default workflow(
  'parallel-review',
  { description: 'Reviews files in parallel', budget: { calls: 100 } },
  async (ctx, input: { files: string[] }) => {
    const reviews = await ctx.map(
      input.files,
      async (file): Promise<Review> => {
        const text = await ctx.step('read', () => read(file))
        const votes = await ctx.all(
          ['strict', 'kind'].map(
            (reviewer) => () =>
              ctx.step(`judge-${reviewer}`, ({ usage }) => {
                usage({ calls: 1, tokens: text.length })
                return judge(text, reviewer)
              }),
          ),
        )
        return { file, verdict: votes.every(Boolean) ? 'fine' : 'look again' }
      },
      { concurrency: 2, key: (file) => file },
    )
    return { reviews, calls: ctx.usage().spent.calls }
  },
)
