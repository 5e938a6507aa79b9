/** `nerve answer` and `nerve signal`. */
import { NerveError, isNerveError } from '../../../base/nerve-error.ts'
import type { InboxRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { driveRecorded } from '../drive-command.ts'
import { forDriving, me, withRun, withRuns } from '../project.ts'
import type { RunHost } from '../run-host.ts'
import { answerValues, parseValue } from '../values.ts'

export function run(invocation: Invocation): Promise<number> {
  return invocation.command === 'signal' ? signal(invocation) : answer(invocation)
}

async function answer({ args, out, dir }: Invocation): Promise<number> {
  const [wanted = '', text = ''] = args.words
  return withRuns(
    dir,
    async (host) => {
      const question = await findQuestion(host, wanted)
      const id = question?.id ?? wanted
      // Not open: only the host can say whether it was answered, by whom, or never there.
      if (question === undefined) {
        await host.answer(id, text, me())
        return 0
      }
      const row = await host.run(question.run)
      return driveRecorded(host, out, row, () => give(host, question, text))
    },
    () => {
      throw new NerveError('not-found', `There is no question ${wanted}: there are no runs in ${dir}.`)
    },
    forDriving(out),
  )
}

async function give(host: RunHost, question: InboxRow, text: string): Promise<undefined> {
  let problem: NerveError | undefined
  for (const value of answerValues(question, text)) {
    try {
      await host.answer(question.id, value, me())
      return
    } catch (error) {
      if (!isNerveError(error, 'answer-rejected')) throw error
      // The likeliest meaning comes first: what is wrong with that one is told.
      problem ??= error
    }
  }
  throw problem
}

/** An id, the beginning of one, or `last` for the question that was asked last. */
async function findQuestion(host: RunHost, wanted: string): Promise<InboxRow | undefined> {
  const open = await host.inbox()
  const exact = open.find((question) => question.id === wanted)
  if (exact !== undefined) return exact
  if (wanted === 'last') {
    const newest = open.at(-1)
    if (newest === undefined) throw new NerveError('not-found', 'There is no open question.')
    return newest
  }
  const near = open.filter((question) => question.id.startsWith(wanted))
  if (near.length < 2) return near[0]
  throw new NerveError(
    'answer-unclear',
    `More than one open question begins with ${wanted}: ${near.map((question) => question.id).join(', ')}.`,
  )
}

function signal({ args, out, dir }: Invocation): Promise<number> {
  const [wanted = '', name = '', text] = args.words
  return withRun(
    dir,
    wanted,
    (host, row) =>
      driveRecorded(host, out, row, async () => {
        const handle = await host.handle(row.run)
        await handle.signal(name, text === undefined ? undefined : parseValue(text), me())
      }),
    forDriving(out),
  )
}
