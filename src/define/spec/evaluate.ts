/**
 * Walks a parsed expression over JSON values. Numbers are numbers (CEL's int and double are one), the same facts always
 * give the same value, and the work is counted: an expression that does too much is an error, not a hang.
 */
import type { ASTNode } from '@marcbachmann/cel-js'
import { NerveError } from '../../base/nerve-error.ts'
import { shown } from '../../base/shown.ts'
import { FUNCTIONS, METHODS, isMacro, type Meter } from './expression-functions.ts'
import { isObject, operate } from './expression-operators.ts'

const MAX_WORK = 1_000_000
const NONE: unique symbol = Symbol('none')

/** A value that may be missing: what `.?` gives. */
class Maybe {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

export function evaluate(ast: ASTNode, text: string, facts: Readonly<Record<string, unknown>>): unknown {
  const walk = new Walk(facts)
  try {
    const value = walk.value(ast)
    if (!(value instanceof Maybe)) return value
    return value.value === NONE ? null : value.value
  } catch (error) {
    if (!(error instanceof Trouble)) throw error
    throw new NerveError('bad-expression', `The expression ${JSON.stringify(text)} has no value: ${error.message}`, {
      data: { expression: text, ...(error.at === undefined ? {} : { offset: error.at }) },
    })
  }
}

/** Why there is no value. Inside only. */
class Trouble extends Error {
  readonly at: number | undefined
  constructor(message: string, at?: number) {
    super(message)
    this.at = at
  }
}

type Node<Op extends ASTNode['op']> = Extract<ASTNode, { op: Op }>

class Walk implements Meter {
  readonly #facts: Readonly<Record<string, unknown>>
  readonly #bound = new Map<string, unknown>()
  readonly #sizes = new WeakMap<object, number>()
  #left = MAX_WORK

  constructor(facts: Readonly<Record<string, unknown>>) {
    this.#facts = facts
  }

  spend(work: number): void {
    this.#left -= work
    if (this.#left < 0) throw new Trouble(`it takes more than ${MAX_WORK} operations.`)
  }

  /** How much it would be when written out: what is made of one thing a thousand times is a thousand things. */
  size(value: unknown): number {
    if (typeof value === 'string') return 1 + (value.length >> 4)
    if (typeof value !== 'object' || value === null) return 1
    const known = this.#sizes.get(value)
    if (known !== undefined) return known
    let size = 1
    for (const one of Object.values(value)) {
      this.spend(1)
      size += this.size(one)
    }
    this.#sizes.set(value, size)
    return size
  }

  fail(message: string): never {
    throw new Trouble(message)
  }

  value(node: ASTNode): unknown {
    this.spend(1)
    switch (node.op) {
      case 'value':
        return literal(node.args)
      case 'id':
        return this.#name(node)
      case '.':
      case '.?':
        return this.#member(node, this.value(node.args[0]), node.args[1])
      case '[]':
      case '[?]':
        return this.#member(node, this.value(node.args[0]), this.#plain(node.args[1]))
      case 'list':
        return this.#made(node.args.map((one) => this.#plain(one)))
      case 'map':
        return this.#object(node)
      case '?:':
        return this.value(this.#truth(node.args[0]) ? node.args[1] : node.args[2])
      case '&&':
        return this.#truth(node.args[0]) && this.#truth(node.args[1])
      case '||':
        return this.#truth(node.args[0]) || this.#truth(node.args[1])
      case '!_':
        return !this.#truth(node.args)
      case '-_':
        return -this.#number(node.args)
      case 'call':
        return this.#call(node)
      case 'rcall':
        return this.#method(node)
      default:
        return operate(this, node.op, [this.#plain(node.args[0]), this.#plain(node.args[1])])
    }
  }

  #plain(node: ASTNode): unknown {
    const value = this.value(node)
    if (value instanceof Maybe) throw new Trouble(`${sourceOf(node)} may be missing: say .orValue(…).`, node.start)
    return value
  }

  #truth(node: ASTNode): boolean {
    const value = this.#plain(node)
    if (typeof value === 'boolean') return value
    throw new Trouble(`${sourceOf(node)} is ${shown(value)}, not true or false.`, node.start)
  }

  #number(node: ASTNode): number {
    const value = this.#plain(node)
    if (typeof value === 'number') return value
    throw new Trouble(`${sourceOf(node)} is ${shown(value)}, not a number.`, node.start)
  }

  #name(node: Node<'id'>): unknown {
    const name = node.args
    if (this.#bound.has(name)) return this.#bound.get(name)
    if (!Object.hasOwn(this.#facts, name)) throw new Trouble(`'${name}' is not known here.`, node.start)
    return this.#facts[name] ?? null
  }

  #member(node: Node<'.' | '.?' | '[]' | '[?]'>, from: unknown, key: unknown): unknown {
    const maybe = from instanceof Maybe || node.op === '.?' || node.op === '[?]'
    const of = from instanceof Maybe ? from.value : from
    const found = of === NONE ? NONE : this.#look(node, of, key)
    if (maybe) return new Maybe(found)
    if (found !== NONE) return found
    // A step that did not run has no result: null, so that what comes after it can ask.
    if (of !== null && of === this.#facts['results']) return null
    const where = sourceOf(node.args[0])
    throw new Trouble(
      Array.isArray(of)
        ? `${where} has ${of.length} items, so there is none at ${shown(key)}.`
        : `there is no ${shown(key)} in ${where}.`,
      node.start,
    )
  }

  #look(node: Node<'.' | '.?' | '[]' | '[?]'>, of: unknown, key: unknown): unknown {
    if (Array.isArray(of) && (node.op === '[]' || node.op === '[?]')) {
      if (typeof key !== 'number') throw new Trouble(`${shown(key)} is not the number of an item.`, node.start)
      return Number.isInteger(key) && key >= 0 && key < of.length ? (of[key] as unknown) : NONE
    }
    if (isObject(of) && typeof key === 'string') return Object.hasOwn(of, key) ? (of[key] ?? missing(of, key)) : NONE
    if (of === null) return NONE
    throw new Trouble(`${sourceOf(node.args[0])} is ${shown(of)}, which has nothing inside.`, node.start)
  }

  #object({ args }: Node<'map'>): unknown {
    const made: Record<string, unknown> = {}
    for (const [key, value] of args) {
      const name = this.#plain(key)
      if (typeof name !== 'string') throw new Trouble(`${sourceOf(key)} is a key, and so must be a text.`, key.start)
      Object.defineProperty(made, name, {
        value: this.#plain(value),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return this.#made(made)
  }

  #made<Value>(value: Value): Value {
    this.spend(this.size(value))
    return value
  }

  #call(node: Node<'call'>): unknown {
    const [name, args] = node.args
    if (name === 'has') return this.#has(args[0])
    const run = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined
    if (run === undefined) throw new Trouble(`there is no function ${name}().`, node.start)
    return run(
      this,
      args.map((one) => this.#plain(one)),
    )
  }

  #has(node: ASTNode | undefined): boolean {
    if (node === undefined || (node.op !== '.' && node.op !== '.?'))
      throw new Trouble('has() takes a field, such as has(input.title).')
    const of = this.value(node.args[0])
    const inside = of instanceof Maybe ? of.value : of
    return inside !== NONE && this.#look(node, inside, node.args[1]) !== NONE
  }

  #method(node: Node<'rcall'>): unknown {
    const [name, receiver, args] = node.args
    const of = this.value(receiver)
    if (of instanceof Maybe) return this.#maybe(node, of)
    if (isMacro(name)) return this.#macro(name, of, node)
    const run = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined
    if (run === undefined) throw new Trouble(`there is no method .${name}().`, node.start)
    return run(this, of, ...args.map((one) => this.#plain(one)))
  }

  #maybe(node: Node<'rcall'>, { value }: Maybe): unknown {
    const [name, receiver, [other]] = node.args
    if (name === 'hasValue') return value !== NONE
    if (name === 'orValue' && other !== undefined) return value === NONE ? this.value(other) : value
    throw new Trouble(`${sourceOf(receiver)} may be missing: say .orValue(…) before .${name}().`, node.start)
  }

  /** all, exists, exists_one, map and filter: over the items of a list, or the keys of an object. */
  #macro(name: string, of: unknown, node: Node<'rcall'>): unknown {
    const [, receiver, args] = node.args
    const [variable, ...bodies] = args
    const body = bodies.at(-1)
    if (variable?.op !== 'id' || body === undefined)
      throw new Trouble(`.${name}() takes a name and an expression, such as .${name}(x, x > 1).`, node.start)
    const items: readonly unknown[] | undefined = Array.isArray(of) ? of : isObject(of) ? Object.keys(of) : undefined
    if (items === undefined)
      throw new Trouble(`${sourceOf(receiver)} is ${shown(of)}, neither a list nor an object.`, receiver.start)
    this.spend(items.length)
    const each = <Value>(one: unknown, use: () => Value): Value => this.#with(variable.args, one, use)
    switch (name) {
      case 'all':
        return items.every((one) => each(one, () => this.#truth(body)))
      case 'exists':
        return items.some((one) => each(one, () => this.#truth(body)))
      case 'exists_one':
        return items.filter((one) => each(one, () => this.#truth(body))).length === 1
      case 'filter':
        return items.filter((one) => each(one, () => this.#truth(body)))
      default: {
        const [condition] = bodies
        const wanted =
          bodies.length < 2 || condition === undefined
            ? items
            : items.filter((one) => each(one, () => this.#truth(condition)))
        return this.#made(wanted.map((one) => each(one, () => this.#plain(body))))
      }
    }
  }

  #with<Value>(name: string, value: unknown, use: () => Value): Value {
    const had = this.#bound.has(name)
    const before = this.#bound.get(name)
    this.#bound.set(name, value)
    try {
      return use()
    } finally {
      if (had) this.#bound.set(name, before)
      else this.#bound.delete(name)
    }
  }
}

function literal(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

/** A field that is there and undefined (the result of a step that did not run) is missing; one that is null is null. */
function missing(of: Readonly<Record<string, unknown>>, key: string): unknown {
  return of[key] === undefined ? NONE : null
}

function sourceOf(node: ASTNode): string {
  return node.input.slice(node.start, node.end)
}
