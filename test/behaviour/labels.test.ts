/** Labels used again: numbered when the order is certain, refused when it is not, and never swapped. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { workflow, type Context } from 'nerve'
import { RecordingStore } from '../properties/recording-store.ts'
import { openStage, rejection, timePasses } from './stage.ts'

type Ctx = Context<unknown>

async function hops(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await Promise.resolve()
}

async function* countTo(count: number): AsyncGenerator<number> {
  for (let i = 0; i < count; i += 1) {
    await Promise.resolve()
    yield i
  }
}

/** Runs a program; then again from every prefix of its commits. Gives every distinct outcome. */
async function outcomes(program: (ctx: Ctx) => unknown): Promise<unknown[]> {
  const definition = workflow('labels', program)
  const store = new RecordingStore()
  const { host, clock } = await openStage({ store })
  const run = await host.start(definition)
  const seen = [await outcome(timePasses(clock, run.result()))]
  for (let cut = 1; cut < store.commits.length; cut += 1) {
    const again = await openStage({ store: await store.crashedAfter(cut), definitions: [definition] })
    seen.push(await outcome(timePasses(again.clock, (await again.host.handle(run.id)).result())))
    await again.host.close()
  }
  const texts = new Set(seen.map((one) => JSON.stringify(one)))
  return [...texts].map((text) => JSON.parse(text) as unknown)
}

async function outcome(result: Promise<unknown>): Promise<unknown> {
  try {
    return await result
  } catch (error) {
    return ((error as Error).cause as { code?: string } | undefined)?.code ?? (error as Error).message
  }
}

const REFUSED: Readonly<Record<string, (ctx: Ctx) => unknown>> = {
  'two async functions that reuse a label after their first step': (ctx) => {
    const flow = async (name: string): Promise<string> => {
      await ctx.step(name, () => name)
      return ctx.step('x', () => name)
    }
    return Promise.all([flow('a'), flow('b')])
  },
  'the same, where the first is slower': (ctx) => {
    const flow = async (name: string, slow: number): Promise<string> => {
      await ctx.step(name, () => hops(slow))
      return ctx.step('x', () => name)
    }
    return Promise.all([flow('a', 9), flow('b', 1)])
  },
  'the same, where the second is slower by turns of the event loop': (ctx) => {
    const flow = async (name: string, slow: number): Promise<string> => {
      await ctx.step(name, async () => {
        for (let i = 0; i < slow; i += 1) await turn()
      })
      return ctx.step('x', () => name)
    }
    return Promise.all([flow('a', 4), flow('b', 0)])
  },
  'flows that wait for promises made before them': (ctx) => {
    const later = async (first: Promise<unknown>, name: string): Promise<string> => {
      await first
      return ctx.step('x', () => name)
    }
    const p = ctx.step('a', () => hops(9))
    const q = ctx.step('b', () => hops(1))
    return Promise.all([later(p, 'P'), later(q, 'Q')])
  },
  'then callbacks': (ctx) =>
    Promise.all([
      ctx.step('a', () => hops(5)).then(() => ctx.step('x', () => 'after a')),
      ctx.step('b', () => 1).then(() => ctx.step('x', () => 'after b')),
    ]),
  'nested async functions': (ctx) => {
    const inner = async (name: string): Promise<string> => {
      await ctx.step(`${name}-1`, () => 1)
      return ctx.step('x', () => name)
    }
    const outer = async (name: string): Promise<string> => inner(name)
    return Promise.all([outer('a'), outer('b')])
  },
  'an await of nothing before the second, and a label more in the first': (ctx) => {
    const first = async (): Promise<string[]> => [await ctx.step('x', () => 'a1'), await ctx.step('x', () => 'a2')]
    const second = async (): Promise<string> => {
      await Promise.resolve()
      return ctx.step('x', () => 'b')
    }
    return Promise.all([first(), second()])
  },
  'a turn of the event loop before both': (ctx) => {
    const flow = async (name: string): Promise<string> => {
      await turn()
      return ctx.step('x', () => name)
    }
    return Promise.all([flow('a'), flow('b')])
  },
  'for await in two flows': (ctx) => {
    const flow = async (name: string): Promise<string[]> => {
      const results: string[] = []
      for await (const i of countTo(2)) results.push(await ctx.step('x', () => `${name}${i}`))
      return results
    }
    return Promise.all([flow('a'), flow('b')])
  },
  'loops in two flows': (ctx) => {
    const flow = async (name: string): Promise<string[]> => {
      const results: string[] = []
      for (let i = 0; i < 2; i += 1) results.push(await ctx.step('x', () => `${name}${i}`))
      return results
    }
    return Promise.all([flow('a'), flow('b')])
  },
  'questions, sleeps, signals, values and children too': async (ctx) => {
    const calls = [
      () => ctx.sleep(1),
      () => ctx.now(),
      () =>
        ctx.child(
          workflow('x', () => 1),
          undefined,
        ),
      () => ctx.all([]),
      () => ctx.checkpoint('x'),
    ]
    const codes: unknown[] = []
    for (const [index, call] of calls.entries()) {
      const flow = async (name: string): Promise<unknown> => {
        await ctx.step(`${name}-${index}`, () => 1)
        return call()
      }
      const results = await Promise.allSettled([flow('a'), flow('b')])
      codes.push(
        results.filter((one) => one.status === 'rejected' && (one.reason as { code: string }).code === 'label-reused')
          .length,
      )
    }
    if (codes.every((count) => count === 1)) throw Object.assign(new Error('all'), { code: 'label-reused' })
    return codes
  },
}

/** Flows that wait for nothing but microtasks: refused or numbered, but with their own results each time. */
const EITHER: Readonly<Record<string, readonly [(ctx: Ctx) => unknown, unknown]>> = {
  'an await of nothing before both': [
    (ctx) => {
      const flow = async (name: string): Promise<string> => {
        await Promise.resolve()
        return ctx.step('x', () => name)
      }
      return Promise.all([flow('a'), flow('b')])
    },
    ['a', 'b'],
  ],
  'more awaits of nothing before the first': [
    (ctx) => {
      const flow = async (name: string, count: number): Promise<string> => {
        await hops(count)
        return ctx.step('x', () => name)
      }
      return Promise.all([flow('a', 7), flow('b', 2), flow('c', 4)])
    },
    ['a', 'b', 'c'],
  ],
  'an await of nothing before the second only': [
    (ctx) => {
      const flow = async (name: string, count: number): Promise<string> => {
        await hops(count)
        return ctx.step('x', () => name)
      }
      return Promise.all([flow('a', 0), flow('b', 1)])
    },
    ['a', 'b'],
  ],
  'a race of plain promises': [
    async (ctx) => {
      const first = await Promise.race([
        ctx.step('slow', () => hops(30).then(() => 'slow')),
        ctx.step('fast', () => 'fast'),
      ])
      return ctx.step('x', () => first)
    },
    'fast',
  ],
}

const FINE: Readonly<Record<string, readonly [(ctx: Ctx) => unknown, unknown]>> = {
  'Promise.all over steps called in one tick': [
    (ctx) =>
      Promise.all(['a', 'b', 'c'].map((name, index) => ctx.step('x', () => hops(9 - index * 4).then(() => name)))),
    ['a', 'b', 'c'],
  ],
  'async functions whose first call is made at once': [
    (ctx) => Promise.all(['a', 'b'].map(async (name) => ctx.step('x', () => name))),
    ['a', 'b'],
  ],
  'the same in a loop': [
    async (ctx) => {
      const results: unknown[] = []
      for (let i = 0; i < 3; i += 1)
        results.push(await Promise.all(['a', 'b'].map((name) => ctx.step('x', () => name + i))))
      return results
    },
    [
      ['a0', 'b0'],
      ['a1', 'b1'],
      ['a2', 'b2'],
    ],
  ],
  'a loop': [
    async (ctx) => {
      const results: number[] = []
      for (let i = 0; i < 4; i += 1) results.push(await ctx.step('x', () => i))
      return results
    },
    [0, 1, 2, 3],
  ],
  'for await': [
    async (ctx) => {
      const results: number[] = []
      for await (const i of countTo(3)) results.push(await ctx.step('x', () => i))
      return results
    },
    [0, 1, 2],
  ],
  'an async function with several steps, called again and again': [
    async (ctx) => {
      const results: string[] = []
      const review = async (round: number): Promise<string> => {
        const thought = await ctx.step('think', () => `thought ${round}`)
        return ctx.step('write', () => `wrote ${thought}`)
      }
      for (let round = 0; round < 3; round += 1) results.push(await review(round))
      return results
    },
    ['wrote thought 0', 'wrote thought 1', 'wrote thought 2'],
  ],
  'async functions that call each other in turn': [
    async (ctx) => {
      const inner = async (name: string): Promise<string> => {
        await ctx.step('x', () => 0)
        await Promise.resolve()
        return ctx.step('x', () => name)
      }
      const outer = async (name: string): Promise<string[]> => [await inner(`${name}1`), await inner(`${name}2`)]
      return [await outer('a'), await ctx.step('x', () => 'between'), await outer('b')]
    },
    [['a1', 'a2'], 'between', ['b1', 'b2']],
  ],
  'an async function with groups inside, called again': [
    async (ctx) => {
      const results: unknown[] = []
      const round = async (n: number): Promise<unknown> => {
        const pair = await ctx.all([() => ctx.step('x', () => n), () => ctx.step('x', () => -n)])
        const items = await ctx.map([1, 2], (item) => ctx.step('x', () => item * n))
        return [pair, items, await ctx.race([() => ctx.step('x', () => n)])]
      }
      for (const n of [1, 2]) results.push(await round(n))
      return results
    },
    [
      [[1, -1], [1, 2], 1],
      [[2, -2], [2, 4], 2],
    ],
  ],
  'an error caught in a function that is called again': [
    async (ctx) => {
      const careful = async (n: number): Promise<string> => {
        try {
          await ctx.step('first', () => 1)
          return await ctx.step('second', () => (n === 0 ? Promise.reject(new Error('no')) : 'yes'))
        } catch {
          return ctx.step('second', () => 'caught')
        }
      }
      return [await careful(0), await careful(1)]
    },
    ['caught', 'yes'],
  ],
  'branches of all, map and race, each a scope': [
    (ctx) =>
      ctx.all([
        async () => [await ctx.step('x', () => hops(9)), await ctx.step('x', () => 'a')],
        async () => [await ctx.step('x', () => 1), await ctx.step('x', () => 'b')],
      ]),
    [
      [null, 'a'],
      [1, 'b'],
    ],
  ],
}

describe('a label reused concurrently, later than in one tick', () => {
  for (const [what, program] of Object.entries(REFUSED)) {
    it(`is refused: ${what}`, async () => {
      expect(await outcomes(program)).toEqual(['label-reused'])
    })
  }

  it('is refused with words that say what to do', async () => {
    const { host } = await openStage()
    const run = await host.start(workflow('told', REFUSED['then callbacks'] as (ctx: Ctx) => unknown))
    expect((await rejection(run.result())).message).toMatch(/The label of 'x' .* ctx\.all, ctx\.map or ctx\.race/)
  })
})

describe('flows that differ by microtasks', () => {
  for (const [what, [program, right]] of Object.entries(EITHER)) {
    it(`are never swapped: ${what}`, async () => {
      const seen = await outcomes(program)
      expect(seen).toHaveLength(1)
      expect([right, 'label-reused']).toContainEqual(seen[0])
    })
  }
})

describe('a label reused in order', () => {
  for (const [what, [program, expected]] of Object.entries(FINE)) {
    it(`is numbered: ${what}`, async () => {
      expect(await outcomes(program)).toEqual([expected])
    })
  }
})

describe('a label', () => {
  it('is text without slashes, numbers and line breaks', async () => {
    const { host } = await openStage()
    for (const label of ['', 'a/b', 'a#2', 'a\nb', 'x'.repeat(201), 7 as unknown as string]) {
      const run = await host.start(workflow('labelled', (ctx) => ctx.step(label, () => 1)))
      expect((await rejection(run.result())).cause).toMatchObject({ code: 'bad-label' })
    }
    const good = await host.start(workflow('labelled', (ctx) => ctx.step('ein Schritt: 你好 🧠', () => 1)))
    expect(await good.result()).toBe(1)
  })
})

describe('a step whose label every object knows', () => {
  it('is forked like any other, also with another result', async () => {
    const { host } = await openStage()
    const odd = workflow('odd', async (ctx) => [
      await ctx.step('valueOf', () => 'a value'),
      await ctx.step('constructor', () => 1),
      await ctx.step('last', () => 2),
    ])
    const run = await host.start(odd)
    expect(await run.result()).toEqual(['a value', 1, 2])
    expect(await (await run.fork()).result()).toEqual(['a value', 1, 2])
    expect(await (await run.fork({ set: { constructor: 3 } })).result()).toEqual(['a value', 3, 2])
  })
})

describe('ctx inside a step', () => {
  it('is refused, whatever is called', async () => {
    const { host } = await openStage()
    const calls: readonly ((ctx: Ctx) => unknown)[] = [
      (ctx) => ctx.step('inner', () => 1),
      (ctx) => ctx.now(),
      (ctx) => ctx.all([() => 1]),
      (ctx) => ctx.sleep(1),
      (ctx) => ctx.ask('Well?'),
      async (ctx) => {
        await turn()
        return ctx.step('inner', () => 1)
      },
    ]
    for (const call of calls) {
      const run = await host.start(workflow('nested', (ctx) => ctx.step('outer', () => call(ctx))))
      expect((await rejection(run.result())).cause).toMatchObject({ code: 'nested-call' })
    }
  })

  it('is refused to what a finished function left behind', async () => {
    const { host } = await openStage()
    let late: Promise<unknown> | undefined
    const definition = workflow('late', async (ctx) => {
      await ctx.step('outer', () => {
        late = turn().then(() => ctx.step('inner', () => 1))
        late.catch(() => undefined)
      })
      await turn()
      await turn()
      return ctx.step('next', () => 2)
    })
    expect(await (await host.start(definition)).result()).toBe(2)
    expect(await rejection(late as Promise<unknown>)).toMatchObject({ code: 'nested-call' })
  })
})
