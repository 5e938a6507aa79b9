/** Names that try to lead out of the project, in every field of everything that can be asked: nothing outside is touched. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHost, type Host } from 'nerve'
import { createService, type Service } from 'nerve/server'
import { isNerveError } from '../../src/base/nerve-error.ts'
import { contract, isFeed, type Name } from '../../src/host/contract/contract.ts'
import { busy } from './host-under-test.ts'

const CALLER = { scope: 'control', local: true, via: 'test' } as const
const OUT = 'led-out'
const EVIL = [
  `../${OUT}`,
  `../../${OUT}`,
  `..\\..\\${OUT}`,
  `%2e%2e%2f${OUT}`,
  `....//....//${OUT}`,
  `${OUT}\0.json`,
  `~/${OUT}`,
] as const

let above: string
let host: Host
let service: Service
const problems: unknown[] = []

beforeAll(async () => {
  above = mkdtempSync(join(tmpdir(), 'nerve-traversal-'))
  const dir = join(above, 'outer', 'project')
  mkdirSync(dir, { recursive: true })
  const onProblem = (error: unknown): void => void problems.push(error)
  host = await createHost({ dir, definitions: [busy], onProblem })
  service = createService(host, { folder: join(dir, 'workflows'), onProblem })
})
afterAll(async () => {
  await host.close()
  rmSync(above, { recursive: true, force: true })
})

const asked = (Object.keys(contract) as Name[]).filter((name) => name !== 'shutdown')

describe.each([...EVIL, join(tmpdir(), OUT)])('%j', (evil) => {
  it.each(asked)('as every name of %s', async (name) => {
    const schema = z.toJSONSchema(contract[name].input, { io: 'input', unrepresentable: 'any' }) as Shape
    const input = filled(schema, evil) as Record<string, unknown>
    const over = AbortSignal.timeout(2_000)
    try {
      if (!isFeed(name)) await service.call(name, { ...input, ...quick(name) }, CALLER, over)
      else {
        const items = await service.feed(name, { ...input, ...(name === 'events' ? { once: true } : {}) }, CALLER, over)
        for await (const _ of items) break
      }
    } catch (error) {
      // Refused with a reason, and not by breaking on the way.
      expect({ name, evil, known: isNerveError(error), error: String(error) }).toMatchObject({ known: true })
    }
    expect(readdirSync(above)).toEqual(['outer'])
    expect(readdirSync(join(above, 'outer'))).toEqual(['project'])
    expect(existsSync(join(tmpdir(), OUT))).toBe(false)
  })
})

it('is nobody else’s trouble', () => {
  expect(problems).toEqual([])
})

interface Shape {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Shape>>
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Shape[]
  readonly items?: Shape
}

/** A value of this shape with the evil name wherever a text can be. */
function filled(shape: Shape, evil: string): unknown {
  if (shape.const !== undefined) return shape.const
  if (shape.enum !== undefined) return shape.enum[0]
  if (shape.anyOf !== undefined) return filled(shape.anyOf[0] ?? {}, evil)
  switch (shape.type) {
    case 'object':
      return Object.fromEntries(Object.entries(shape.properties ?? {}).map(([key, one]) => [key, filled(one, evil)]))
    case 'array':
      return [filled(shape.items ?? {}, evil)]
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return false
    default:
      return evil
  }
}

/** What would otherwise be waited for, and what a spec has to have to be one. */
function quick(name: Name): object {
  if (name === 'runs.wait') return { timeout: 0 }
  if (name !== 'definitions.create') return {}
  return { spec: { nerve: 1, name: `../../../${OUT}`, steps: { one: { node: 'busy' } } } }
}
