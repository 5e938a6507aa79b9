/**
 * Clients of every kind that read the feed of all runs, and are closed or killed and come back again and again. Each keeps
 * account of every durable event that it got, in the order in which it came.
 */
import { once } from 'node:events'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'nerve/client'
import { expect } from 'vitest'
import { Account } from '../server/reading.ts'
import { KINDS, type Doors, type Kind } from './restless-kinds.ts'

/** What is recorded of each run. */
export type Journals = ReadonlyMap<string, readonly Entry[]>

interface Entry {
  readonly seq: number
  readonly type: string
  readonly path?: string
  readonly id?: string
  readonly prompt?: string
}

export interface Restless {
  readonly name: string
  /** How often it came back. */
  readonly visits: () => number
  /** Reads what is left, and ends. */
  readonly finish: () => Promise<void>
  /** What it saw is what is recorded. */
  readonly expectRight: (journals: Journals) => void
}

/** One of each kind that reads the feed of all runs; `chance` gives numbers from 0 to 1. */
export async function restlessClients(doors: Doors, chance: () => number): Promise<readonly Restless[]> {
  const kinds = Object.entries(KINDS).map(([name, kind]) => restless(name, kind, { doors, chance }))
  return [...kinds, await sdk(doors.socket, chance)]
}

/** What a reader got, and how much of it by itself: who is never let in would be given all of it at the end. */
interface Told {
  readonly name: string
  readonly account: Account
  readonly byItself: number
}

const PATIENCE_MS = 20_000

/** On a busy machine, whoever is cut off so soon may not have had a turn yet: it comes again until it has. */
async function hasTurn(account: Account): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (account.events === 0 && performance.now() < deadline) await delay(20)
}

/** Every event of every run, once each and in order. */
function expectAll({ name, account, byItself }: Told, journals: Journals): void {
  expect({ name, gotSome: byItself > 0 }).toEqual({ name, gotSome: true })
  for (const [run, entries] of journals)
    expect({ name, run, seen: account.seen.get(run) }).toEqual({ name, run, seen: entries.map(({ seq }) => seq) })
}

/** A way to the daemon that can be cut. */
async function unreliable(
  socket: string,
): Promise<{ readonly path: string; readonly cut: () => void; readonly close: () => void }> {
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connectSocket(socket)
    const leave = (): void => {
      open.delete(near)
      near.destroy()
      far.destroy()
    }
    for (const one of [near, far]) one.on('error', () => undefined).on('close', leave)
    open.add(near)
    near.pipe(far).pipe(near)
  })
  const path = `${socket}.unreliable`
  await once(server.listen(path), 'listening')
  const cut = (): void => {
    for (const one of open) one.destroy()
  }
  return { path, cut, close: () => void server.close() }
}

/** A program that does nothing about it: the client comes back by itself. */
async function sdk(socket: string, chance: () => number): Promise<Restless> {
  const way = await unreliable(socket)
  const client = await connect(way.path)
  let timer: NodeJS.Timeout
  const cutLater = (): void => {
    timer = setTimeout(
      () => {
        way.cut()
        cutLater()
      },
      20 + chance() * 600,
    )
  }
  cutLater()
  const account = new Account()
  const over = new AbortController()
  let lost = 0
  let byItself = 0
  let cursor = '0'
  const reading = (async () => {
    const feed = client.events({
      after: '0',
      signal: over.signal,
      onLost: () => (lost += 1),
      onCursor: (at) => (cursor = at),
    })
    for await (const item of feed) account.add(item)
    await client.close()
  })()
  const finish = async (): Promise<void> => {
    clearTimeout(timer)
    await hasTurn(account)
    over.abort()
    await reading
    way.close()
    byItself = account.events
    await readRest(socket, cursor, account)
  }
  const name = 'sdk'
  return {
    name,
    visits: () => lost,
    finish,
    expectRight: (journals) => expectAll({ name, account, byItself }, journals),
  }
}

function restless(
  name: string,
  kind: Kind,
  { doors, chance }: { readonly doors: Doors; readonly chance: () => number },
): Restless {
  const account = new Account()
  let cursor = '0'
  let over = false
  let visits = 0
  let byItself = 0
  let cut: () => void = () => undefined
  const visit = async (): Promise<void> => {
    visits += 1
    const reading = kind(doors, cursor)
    ;({ cut } = reading)
    const timer = setTimeout(reading.cut, 20 + chance() * 600)
    try {
      for await (const line of reading.lines) {
        if (line.item !== undefined) account.add(line.item as never)
        cursor = line.cursor ?? cursor
      }
    } catch {
      // Cut in the middle of something: what did not come whole did not come.
    } finally {
      clearTimeout(timer)
      reading.cut()
    }
  }
  const coming = (async () => {
    while (!over) {
      await visit()
      // The daemon may be gone.
      await delay(20)
    }
  })()
  const finish = async (): Promise<void> => {
    await hasTurn(account)
    over = true
    cut()
    await coming
    byItself = account.events
    await readRest(doors.socket, cursor, account)
  }
  return {
    name,
    visits: () => visits,
    finish,
    expectRight: (journals) => expectAll({ name, account, byItself }, journals),
  }
}

async function readRest(socket: string, cursor: string, account: Account): Promise<void> {
  const client = await connect(socket)
  for await (const item of client.events({ after: cursor, once: true })) account.add(item)
  await client.close()
}
