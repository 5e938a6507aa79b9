import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../host/api.ts'
import { Progress } from './progress.ts'
import { columnsOf, renderLine } from './style.ts'
import { fitLines, treeLines } from './tree-view.ts'

type Event = Record<string, unknown> & { readonly type: string }

/** A run in which these events happened, a second apart. */
function heard(...events: readonly Event[]): Progress {
  const progress = new Progress()
  const all = [{ type: 'run-created', definition: 'flow', root: 'r', depth: 0, format: 1 }, ...events]
  for (const [index, event] of all.entries())
    progress.hear({ run: 'r', seq: index + 1, time: index * 1_000, ...event } as unknown as RunEvent)
  return progress
}

function shown(progress: Progress, now = 60_000, isLeft = false): string[] {
  const run = progress.runs.get('r')
  if (run === undefined) throw new Error('no run')
  return treeLines(progress, run, { now, spinner: '*', isLeft }).map(({ line }) => renderLine(line, 200, false))
}

const started = (path: string, more: object = {}): Event => ({ type: 'step-started', path, attempt: 1, ...more })
const completed = (path: string, more: object = {}): Event => ({
  type: 'step-completed',
  path,
  attempt: 1,
  started: 1_000,
  ...more,
})

describe('the tree', () => {
  test('of a run that nobody drives says of what it was at that it was, and of what waits that it waits', () => {
    const child = (run: string, ...events: readonly Event[]): Event[] =>
      [{ type: 'run-created', definition: 'inner', root: 'r', depth: 1, format: 1 }, ...events].map((event, index) => ({
        run,
        seq: index + 1,
        ...event,
      }))
    const progress = heard(
      { type: 'scope-opened', path: 'all', kind: 'all', size: 2 },
      { type: 'child-started', path: 'all/0/asks', child: 'one', definition: 'inner' },
      { type: 'child-started', path: 'all/1/works', child: 'two', definition: 'inner' },
      { type: 'child-started', path: 'later', child: 'three', definition: 'inner' },
      ...child('one', { type: 'question-asked', path: 'ask', id: 'one-2', kind: 'ask', prompt: 'Well?' }),
      ...child('two', started('work')),
      ...child('three', completed('first'), { type: 'timer-set', path: 'sleep', until: 90_000 }),
    )
    expect(shown(progress, 60_000, true).map((line) => line.trim())).toEqual([
      '◦ all  all of 2',
      '◷ asks  one',
      '? ask  Well?',
      '◦ works  two  was running',
      '◦ work  was running',
      '◷ later  three',
      '✓ first  9.0s',
      '◷ sleep  wakes in 30.0s',
    ])
  })

  test('iterations of a loop are numbered, also where each is one call', () => {
    const progress = heard(
      { type: 'scope-opened', path: 'loop', kind: 'node', node: 'loop', size: 1 },
      completed('loop/1/work'),
      completed('loop/2/work'),
      completed('loop/3/a'),
      completed('loop/3/b'),
    )
    expect(shown(progress).map((line) => line.trim().replace(/ +\S+s$/, ''))).toEqual([
      '✓ loop  loop',
      '✓ work ·1',
      '✓ work ·2',
      '✓ [3]',
      '✓ a',
      '✓ b',
    ])
  })

  test('paths make it, single calls of a branch stand for the branch, and repeated labels are iterations', () => {
    const progress = heard(
      { type: 'scope-opened', path: 'all', kind: 'all', size: 2 },
      completed('all/0/a', { usage: { usd: 0.02, tokens: 1500 } }),
      started('all/1/b'),
      completed('all/1/c'),
      started('review'),
      completed('review'),
      started('review#2'),
    )
    expect(shown(progress)).toEqual([
      '  * all  all of 2',
      '    ✓ a  1.0s  $0.02  1500 tokens',
      '    * [1]',
      '      * b  57.0s',
      '      ✓ c  3.0s',
      '  ✓ review  1.0s',
      '  * review ·2  53.0s',
    ])
  })

  test('a map says how far it is, and its items have their names also while they run', () => {
    const progress = heard(
      { type: 'scope-opened', path: 'map', kind: 'map', size: 4 },
      completed('map/a/work'),
      completed('map/a', { kind: 'item' }),
      started('map/b/work'),
      started('map/c/work'),
    )
    expect(shown(progress).map((line) => line.replace(/ +[\d.]+s$/, ''))).toEqual([
      '  * map  map of 4, 1 done',
      '    ✓ [a]',
      '      ✓ work',
      '    * [b]',
      '      * work',
      '    * [c]',
      '      * work',
    ])
  })

  test('retries, failures, questions, signals and timers say what they wait for', () => {
    const progress = heard(
      {
        type: 'step-failed',
        path: 'w',
        attempt: 1,
        started: 0,
        final: false,
        retryAt: 90_000,
        error: { name: 'E', message: 'no\u001B[2J luck' },
      },
      { type: 'step-failed', path: 'x', attempt: 3, started: 0, final: true, error: { name: 'E', message: 'gone' } },
      { type: 'question-asked', path: 'ask', id: 'r-3', kind: 'ask', prompt: 'Really?' },
      { type: 'wait-started', path: 'wait-paid', name: 'paid' },
      { type: 'timer-set', path: 'sleep', until: 120_000 },
    )
    expect(shown(progress)).toEqual([
      '  ↻ w  attempt 1  no luck  again in 30.0s  1.0s',
      '  ✗ x  attempt 3  gone  2.0s',
      '  ? ask  Really?',
      '  ◷ wait-paid  for the signal paid',
      '  ◷ sleep  wakes in 1m00s',
    ])
  })

  test('a child run is shown below the call that started it', () => {
    const progress = heard({ type: 'child-started', path: 'kid', child: 'k', definition: 'small' })
    progress.hear({
      run: 'k',
      seq: 1,
      time: 0,
      type: 'run-created',
      definition: 'small',
      root: 'r',
      depth: 1,
      format: 1,
      parent: { run: 'r', path: 'kid' },
    })
    progress.hear({ run: 'k', seq: 2, time: 5_000, ...completed('step') } as unknown as RunEvent)
    expect(shown(progress)).toEqual(['  * kid  k  59.0s', '    ✓ step  4.0s'])
    expect(progress.roots.map((run) => run.run)).toEqual(['r'])
  })
})

describe('room', () => {
  test('what is over goes first when there are too few rows', () => {
    const progress = heard(...Array.from({ length: 30 }, (_, i) => completed(`s${i}`)), started('now'))
    const run = progress.runs.get('r')
    if (run === undefined) throw new Error('no run')
    const lines = fitLines(treeLines(progress, run, { now: 0, spinner: '*' }), 5).map((line) =>
      renderLine(line, 80, false),
    )
    expect(lines).toHaveLength(5)
    expect(lines[0]).toBe('  … 27 more')
    expect(lines.at(-1)).toMatch(/\* now/)
  })

  test('a line is cut by columns, also with wide letters and colours', () => {
    const line = [{ text: '  ' }, { text: '漢字漢字', tone: 'good' as const }, { text: ' and more text' }]
    for (let columns = 1; columns < 30; columns += 1) {
      const text = renderLine(line, columns, false)
      expect(columnsOf(text)).toBeLessThanOrEqual(columns)
      expect(stripVTControlCharacters(renderLine(line, columns, true))).toBe(text)
    }
    expect(renderLine(line, 8, false)).toBe('  漢字…')
  })
})
