/** Sessions that are closed when their test ends, nodes that write down what is done with them, folders that go away. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { defineNode, type Host, type Node, type NodeOptions } from 'nerve'
import { createSession, type Session, type SessionOptions } from 'nerve/sessions'

export const shout = defineNode('shout', (text: string) => text.toUpperCase())

export async function openSession(host: Host, options: Partial<SessionOptions> = {}): Promise<Session> {
  const session = await createSession(host, { name: 'main', ...options })
  onTestFinished(async () => void (await session.close()))
  return session
}

/** A persistent node that writes down what is done with it. */
export function shell(id: string, log: string[], options: NodeOptions<string, string> = {}): Node<string, string> {
  return defineNode(id, (text: string) => `${id}: ${text}`, {
    persistent: true,
    start: () => void log.push(`start ${id}`),
    stop: () => void log.push(`stop ${id}`),
    fork: (name) => shell(name, log, options),
    ...options,
  })
}

export function temporary(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-session-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

export const names = (host: Host): string[] => [...host.registry.names.keys()]
