import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fromPs, inTurn, listProcesses, parsePs, parseStat, type ProcessRow } from './process-table.ts'
import { killTree, kinIn, treeOf, type Tree } from './process-tree.ts'

function row(pid: number, parent: number, more: Partial<ProcessRow> = {}): ProcessRow {
  return { pid, parent, group: pid, session: pid, started: '1', marked: false, ...more }
}

function tree(root: number, ended = false): Tree {
  return { mark: 'm', root, rootEnded: () => ended }
}

const pids = (rows: readonly ProcessRow[]): number[] => rows.map(({ pid }) => pid)

describe('the processes of a tree', () => {
  it('are its descendants, its group, its session and what has its mark, with their descendants', () => {
    const rows = [
      row(1, 0),
      row(10, 1),
      row(11, 10),
      row(12, 11),
      row(13, 1, { group: 10 }),
      row(14, 1, { session: 10 }),
      row(15, 1, { marked: true }),
      row(16, 15),
      row(17, 1),
    ]
    expect(pids(treeOf(tree(10), rows))).toEqual([10, 11, 12, 13, 14, 15, 16])
  })

  it('are not those of somebody who has got the pid of the root', () => {
    const rows = [row(10, 1), row(11, 10), row(12, 1, { group: 10 }), row(13, 1, { marked: true })]
    expect(pids(treeOf(tree(10, true), rows))).toEqual([13])
    expect(pids(treeOf(tree(10, true), rows.slice(1)))).toEqual([12, 13])
  })

  it('stay in it once they were found, unless their pid is another process by now', () => {
    expect(pids(treeOf(tree(10, true), [row(20, 1)], new Set(['20@1'])))).toEqual([20])
    expect(pids(treeOf(tree(10, true), [row(20, 1, { started: '2' })], new Set(['20@1'])))).toEqual([])
  })

  it('are not those that vanish, nor those of the system, where the root is not known', () => {
    const rows = [row(1, 0, { group: 0, session: 0 }), row(10, 0, { group: -1, session: -1 }), row(11, 10), row(12, 1)]
    expect(treeOf(tree(-1, true), rows)).toEqual([])
  })

  it('are never this process', () => {
    expect(treeOf(tree(10), [row(10, 1), row(process.pid, 10)]).map(({ pid }) => pid)).toEqual([10])
  })
})

describe('the table of processes', () => {
  it('can be read whatever a process is called', () => {
    const stat = '42 (a) S (\n b)) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9'
    expect(parseStat(42, stat)).toEqual({ pid: 42, parent: 7, group: 8, session: 9, started: '12345' })
    expect(parseStat(42, '42 (x) Z 7 8 9 0')).toBeUndefined()
    expect(parseStat(42, '')).toBeUndefined()
  })

  it('leaves out what is older than a tree, but not when pids may have come round', async () => {
    const at = performance.now()
    const child = spawn('sleep', ['60'], { stdio: 'ignore' })
    onTestFinished(() => void child.kill('SIGKILL'))
    const pid = child.pid ?? -1
    const young = pids(await listProcesses('none', { pid, at }))
    expect([young.includes(pid), young.includes(process.pid)]).toEqual([true, false])
    const all = pids(await listProcesses('none', { pid, at: -1e9 }))
    expect([all.includes(pid), all.includes(process.pid)]).toEqual([true, true])
    expect([9, 10, 20, 21].filter(inTurn(10, 20))).toEqual([10, 20])
    expect([1, 20, 21, 9, 10].filter(inTurn(10, 1))).toEqual([1, 20, 21, 10])
  })

  it('is the same from ps', async () => {
    const own = (rows: readonly ProcessRow[]): ProcessRow | undefined => rows.find(({ pid }) => pid === process.pid)
    const [here, there, bare] = [await listProcesses('none'), await fromPs('none'), await fromPs('')].map(own)
    expect(here?.parent).toBe(process.ppid)
    expect({ parent: there?.parent, group: there?.group }).toEqual({ parent: here?.parent, group: here?.group })
    expect(bare).toEqual(there)
    expect(there?.started).toMatch(/^\w{3} \w{3} +\d+ [\d:]+ \d{4}$/u)
  })

  it.each([
    ['  7 1 7 S+ Tue Nov  8 20:54:01 2026 node x.js A=1 NERVE_TREE=ab.cd B=2', true],
    ['  7 1 7 S+ Tue Nov  8 20:54:01 2026 node x.js ANERVE_TREE=cd NERVE_TREE=ab cd', false],
    ['  7 1 7 S+ Tue Nov  8 20:54:01 2026', false],
  ])('has what a line of ps says: %s', (line, marked) => {
    const started = 'Tue Nov  8 20:54:01 2026'
    expect(parsePs(line, 'cd')).toEqual({ pid: 7, parent: 1, group: 7, session: 7, started, marked })
    expect(parsePs(line, '')?.marked).toBe(false)
    expect(parsePs(line.replace('S+', 'Z'), 'cd')).toBeUndefined()
  })

  it('knows nobody by an empty mark', async () => {
    expect((await listProcesses('')).filter(({ marked }) => marked)).toEqual([])
  })

  it('knows whose environment has the mark', async () => {
    const child = spawn('sleep', ['1000'], {
      env: { PATH: process.env['PATH'], NERVE_TREE: 'above.mark-of-this-test' },
    })
    try {
      await once(child, 'spawn')
      for (const rows of [await listProcesses('mark-of-this-test'), await fromPs('mark-of-this-test')])
        expect(pids(rows.filter(({ marked }) => marked))).toEqual([child.pid])
    } finally {
      child.kill('SIGKILL')
    }
  })
})

describe('killTree', () => {
  it('gives time to end, and ends what does not', async () => {
    const child = spawn('sh', ['-c', "trap '' TERM; echo ready; while :; do sleep 1000; done"], { detached: true })
    await once(child.stdout, 'data')
    const root = child.pid ?? -1
    const exit = once(child, 'exit')
    const ended = (): boolean => child.exitCode !== null || child.signalCode !== null
    const found = await killTree({ mark: 'none-has-it', root, rootEnded: ended }, 100)
    expect(found).toBeGreaterThanOrEqual(1)
    expect(await exit).toEqual([null, 'SIGKILL'])
  })

  it('ends what was seen to belong to a program, when nothing tells any more', async () => {
    // The shell in the middle leads another session, and nobody is its parent when the first one is gone.
    const shell = ['-c', 'sleep 1000 & echo $!; exec sleep 1000']
    const start = `require('node:child_process').spawn('sh', ${JSON.stringify(shell)}, { detached: true, stdio: 'inherit' })`
    const child = spawn(process.execPath, ['-e', start], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const [root = -1, last] = [child.pid, Number(line.toString())]
    const rows = await listProcesses('')
    const kin = kinIn(rows, [root])
    expect(kin.size).toBe(3)
    const others = rows.map((row) => (row.pid === root ? { ...row, parent: 1 } : row))
    expect(kinIn(others, [root]).size).toBe(0)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await killTree({ mark: '', root: -1, rootEnded: () => true }, 0, kin)
    expect(pids(await listProcesses(''))).not.toContain(last)
  })

  it('is quick when nothing is left', async () => {
    expect(await killTree({ mark: 'none-has-it', root: -1, rootEnded: () => true }, 60_000)).toBe(0)
  })
})
