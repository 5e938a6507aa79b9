/** The table of cases: each is run on a host of its own, and every run that it leaves behind is replayed. */
import { describe, expect, it } from 'vitest'
import { openStage, type Stage } from '../../behaviour/stage.ts'
import { page } from '../../docs/pages.ts'
import type { Case } from './case.ts'
import { AREAS } from './cases.ts'

const all = Object.values(AREAS).flat()
const checked = Object.entries(AREAS).flatMap(([area, cases]) =>
  cases.flatMap(({ theirs, idea, verdict, run }) => (run === undefined ? [] : [{ area, theirs, idea, verdict, run }])),
)

async function replayAll({ host }: Stage): Promise<unknown[]> {
  const runs = await host.runs({ children: true })
  return Promise.all(
    runs.map(async ({ run, definition }) => {
      const { same, problems } = await host.replay(run)
      return { definition, same, problems }
    }),
  )
}

const count = (cases: readonly Case[], verdict: Case['verdict']): number =>
  cases.filter((one) => one.verdict === verdict).length

describe('the ideas of the tests of LangGraph.js', () => {
  it.each(checked)('$area, $verdict: $idea ($theirs)', async ({ run }) => {
    const stage = await openStage()
    await run(stage)
    const replayed = await replayAll(stage)
    expect(replayed).toEqual(replayed.map((one) => ({ ...(one as object), same: true, problems: [] })))
    expect(stage.problems).toEqual([])
  })
})

describe('the table', () => {
  it('says where each idea is from, and has each of them once', () => {
    expect(all.filter(({ theirs }) => !/^[\w/.-]+\.ts: \S/u.test(theirs)).map(({ theirs }) => theirs)).toEqual([])
    const ideas = all.map(({ idea }) => idea)
    expect(ideas.filter((idea, index) => ideas.indexOf(idea) !== index)).toEqual([])
  })

  it('gives a reason of at least a sentence, wherever ours is not the same', () => {
    const silent = all.filter((one) => one.verdict !== 'same' && !/^\S.{40,}\.$/u.test(one.reason))
    expect(silent.map(({ idea }) => idea)).toEqual([])
  })

  it('has the numbers that the guide tells', () => {
    const rows = Object.entries({ ...AREAS, all }).map(([area, cases]) => ({
      area,
      cases: cases.length,
      same: count(cases, 'same'),
      differs: count(cases, 'differs'),
      'not ours': count(cases, 'not-ours'),
    }))
    console.table(rows)
    const told = /(\d+) cases: (\d+) are the same, (\d+) differ on purpose, (\d+) are not ours/u.exec(
      page('docs/guide/coming-from-langgraph.md').text.replaceAll('\n', ' '),
    )
    expect(told?.slice(1).map(Number)).toEqual([
      all.length,
      count(all, 'same'),
      count(all, 'differs'),
      count(all, 'not-ours'),
    ])
  })
})
