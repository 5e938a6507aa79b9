/**
 * A project deep in a folder, with something to find and to break at every level above it, and a server for it. Whatever leads
 * out of the project meets a bait: it can be read, loaded, overwritten or removed, and each of these shows.
 */
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { createHost, defineNode, workflow } from 'nerve'
import { connect, type Client } from 'nerve/client'
import { createService, startServer } from 'nerve/server'
import { createSessionManager } from 'nerve/sessions'
import { busy, waiting } from './host-under-test.ts'

/** What everything is called that lies outside. */
export const OUT = 'led-out'
/** In every file outside: no answer may have it. */
export const SECRET = 'what lies outside'
/** So deep is the project, and no name leads up further. */
const DEEP = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'project']

export interface Scene {
  readonly above: string
  readonly socket: string
  readonly near: Client
  readonly problems: unknown[]
  /** Everything outside `.nerve`, with what is in it. */
  readonly outside: () => Tree
  /** `.nerve`: the names of all files, and what is in those that do not change by themselves. */
  readonly inside: () => Tree
  readonly end: () => Promise<void>
}

export type Tree = Readonly<Record<string, string>>

const asking = workflow('asking', (ctx) => ctx.ask('What?', { label: 'what' }))

/** A node that can be used in every way, and does nothing. */
function puppet(id: string): ReturnType<typeof defineNode> {
  const node = defineNode(id, (input: unknown) => input ?? null, {
    persistent: true,
    interrupt: () => undefined,
    reset: () => undefined,
    fork: (copy) => puppet(copy) as never,
  })
  return Object.assign(node, {
    run: () => undefined,
    write: () => undefined,
    read: () => '',
    readTail: () => '',
    watch: (listener: (part: object) => void) => (listener({ type: 'state', state: 'stopped' }), () => undefined),
  })
}

export async function traversalScene(): Promise<Scene> {
  const above = mkdtempSync(join(tmpdir(), 'nerve-traversal-'))
  const dir = join(above, ...DEEP)
  mkdirSync(dir, { recursive: true })
  const problems: unknown[] = []
  const onProblem = (error: unknown): void => void problems.push(error)
  const host = await createHost({ dir, definitions: [busy, waiting, asking], onProblem })
  const sessions = createSessionManager(host, { lazy: true, onProblem })
  await sessions.create({ name: 'work', nodes: [puppet('doll')] })
  await sessions.create({ name: 'idle' })
  layBaits(join(dir, '.nerve', 'sessions'))
  for (const folder of ['workflows', '.nerve/history/work']) mkdirSync(join(dir, folder), { recursive: true })
  const service = createService(host, { sessions, folder: join(dir, 'workflows'), onProblem })
  const run = mkdtempSync(join(tmpdir(), 'nerve-traversal-run-'))
  const socket = join(run, 's')
  const server = await startServer({ service, socket, onProblem })
  const near = await connect(socket)
  const own = join(dir, '.nerve')
  return {
    above,
    socket,
    near,
    problems,
    outside: () => treeOf(above, (path) => path !== own),
    // Histories of what is in the session are written when there is time.
    inside: () => treeOf(own, (path) => !/\/history\/work\/[\w-]+\.jsonl$/.test(path)),
    end: async () => {
      await near.close()
      await server.close()
      await sessions.closeAll()
      await host.close()
      for (const one of [above, run]) rmSync(one, { recursive: true, force: true })
    },
  }
}

/** At each level: the record of a session, as it is asked for from below, and a workflow that says so when it is loaded. */
function layBaits(from: string): void {
  let at = from
  for (let level = 1; level <= DEEP.length + 2; level += 1) {
    at = dirname(at)
    const name = `${'../'.repeat(level)}${OUT}`
    const record = { format: 1, name, tags: [SECRET], created: 1, members: [] }
    writeFileSync(join(at, `${OUT}.json`), JSON.stringify(record))
    writeFileSync(join(at, OUT), SECRET)
    writeFileSync(
      join(at, `${OUT}.ts`),
      `import { writeFileSync } from 'node:fs'\nwriteFileSync(new URL('./was-loaded', import.meta.url), '')\nexport const ${SECRET.replaceAll(' ', '_')} = 1\n`,
    )
  }
}

/** Every file below, by its path and what is in it. What the database writes, and when, is its own. */
function treeOf(folder: string, enters: (path: string) => boolean): Tree {
  const found: Record<string, string> = {}
  const look = (at: string): void => {
    for (const name of readdirSync(at)) {
      const path = join(at, name)
      if (!enters(path)) continue
      const stat = lstatSync(path)
      const key = relative(folder, path)
      if (stat.isDirectory()) {
        found[key] = 'a folder'
        look(path)
      } else found[key] = name.startsWith('nerve.db') ? 'the database' : digest(path)
    }
  }
  look(folder)
  return found
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('base64url')
}
