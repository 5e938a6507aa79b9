import { describe, expect, it } from 'vitest'
import { defineNode } from '../../define/node.ts'
import type { AnyNode } from '../../engine/definition.ts'
import type { Schema } from '../../base/schema.ts'
import { createNodeFactory } from './node-factory.ts'
import { nodeFactory } from './node-kinds.ts'

/** Wants a number `size`. */
const sized: Schema<{ size: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const { size } = value as { size?: unknown }
      return typeof size === 'number'
        ? { value: { size } }
        : { issues: [{ message: 'is not a number', path: ['size'] }] }
    },
  },
}

function factoryOfBoxes() {
  const factory = createNodeFactory()
  factory.register('box', (id, { size }) => defineNode(id, () => size), { fields: sized })
  factory.register('any', (id) => defineNode(id, () => 1))
  return factory
}

describe('a node factory', () => {
  it('makes nodes of data', async () => {
    const node: AnyNode = await factoryOfBoxes().create({ kind: 'box', id: 'a', size: 3 })
    expect([node.id, await node.execute(undefined, {} as never)]).toEqual(['a', 3])
  })

  it('names the field that is wrong', async () => {
    const factory = factoryOfBoxes()
    await expect(factory.create({ kind: 'bxo', id: 'a' })).rejects.toThrow(
      `kind: "bxo" is not a kind of node. Did you mean 'box'?`,
    )
    await expect(factory.create({ kind: 'box', id: 'a/b', size: 1 })).rejects.toThrow(
      `"a/b" is not a name for the id of a node (box)`,
    )
    await expect(factory.create({ kind: 'box', id: 'a', size: 'big' })).rejects.toThrow(
      `The configuration of 'a' (box) does not fit its schema: size: is not a number`,
    )
    await expect(factory.create(undefined as never)).rejects.toThrow('not an object')
    expect(() => factory.register('box', () => defineNode('x', () => 1))).toThrow("There is a kind 'box' already.")
  })

  it('refuses what a kind makes when that is not the node that was asked for', async () => {
    const factory = createNodeFactory()
    factory.register('wrong', () => defineNode('other', () => 1))
    factory.register('none', () => ({}) as never)
    factory.register('throws', () => {
      throw new TypeError('no such program')
    })
    await expect(factory.create({ kind: 'wrong', id: 'a' })).rejects.toThrow(
      "made a node 'other' when it was asked for 'a'",
    )
    await expect(factory.create({ kind: 'none', id: 'a' })).rejects.toThrow('made no node')
    await expect(factory.create({ kind: 'throws', id: 'a' })).rejects.toThrow('does not make a node: no such program')
  })

  it('remembers what it made each node from, without secrets and what is not data', async () => {
    const factory = factoryOfBoxes()
    const node = await factory.create({
      kind: 'any',
      id: 'a',
      env: { NODE_ENV: 'test', GITHUB_TOKEN: 'abc' },
      args: ['x', 'sk-ant-api03-AbCdEfGhIjKlMnOpQrSt'],
      parse: () => 1,
      size: 2,
    })
    expect(factory.recorded(node)).toEqual({
      config: { kind: 'any', id: 'a', env: { NODE_ENV: 'test' }, args: ['x', undefined], size: 2 },
      omitted: ['env.GITHUB_TOKEN', 'args.1', 'parse'],
    })
    expect(factory.recorded(defineNode('b', () => 1))).toBeUndefined()
  })

  it('makes the same again under another id, with everything', async () => {
    const factory = createNodeFactory()
    factory.register('teller', (id, { apiKey }) => defineNode(id, () => apiKey))
    const node = await factory.create({ kind: 'teller', id: 'a', apiKey: 'secret' })
    const again = await factory.again(node, 'b')
    expect([again?.id, await again?.execute(undefined, {} as never)]).toEqual(['b', 'secret'])
    expect(
      factory.again(
        defineNode('x', () => 1),
        'y',
      ),
    ).toBeUndefined()
  })

  it('knows the nodes of Nerve, which check their own fields', async () => {
    expect(nodeFactory.kinds()).toEqual(expect.arrayContaining(['bash', 'http', 'identity', 'terminal']))
    const node = await nodeFactory.create({ kind: 'identity', id: 'same', description: 'as it is' })
    expect(node.info()).toMatchObject({ kind: 'identity', description: 'as it is' })
    await expect(nodeFactory.create({ kind: 'identity', id: 'same', descripton: 'x' })).rejects.toThrow(
      "has no option 'descripton'. Did you mean 'description'?",
    )
    for (const kind of ['bash', 'http', 'terminal'])
      expect((await nodeFactory.create({ kind, id: 'one' })).kind).toBe(kind)
  })
})
