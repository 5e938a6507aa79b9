/** The real Claude Code in homes of their own, with a scripted model, ended after the test also when it failed. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { createHost, workflow, type Host } from 'nerve'
import {
  claudeTerminal,
  type ClaudeResult,
  type ClaudeTerminalNode,
  type ClaudeTerminalOptions,
} from 'nerve/claude-terminal'
import { onTestFinished } from 'vitest'
import { openModel, type ScriptedModel } from './scripted-model.ts'

const vendors = join(import.meta.dirname, '..', '..', 'vendors', 'node_modules')
if (!existsSync(vendors)) throw new Error('These tests need Claude Code. Bring it, once: node scripts/vendors.ts')
const place = join(vendors, '@anthropic-ai', `claude-agent-sdk-${process.platform}-${process.arch}`, 'claude')
const found = existsSync(place) ? place : undefined

/** Undefined where there is no Claude Code for the machine: then tests are skipped, and say why. */
export const CLAUDE = found
export const WHY_SKIPPED =
  found === undefined ? ` (SKIPPED: there is no Claude Code for ${process.platform}-${process.arch})` : ''

export interface Stage {
  readonly home: string
  readonly cwd: string
  readonly key: string
  readonly model: ScriptedModel
  readonly options: ClaudeTerminalOptions
  open(options?: ClaudeTerminalOptions, id?: string): ClaudeTerminalNode
}

/** A folder in which nobody has to be asked anything before the first prompt. */
export async function openStage(): Promise<Stage> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'nerve-claude-test-')))
  const nodes: ClaudeTerminalNode[] = []
  onTestFinished(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
  const model = await openModel()
  const cwd = join(home, 'app')
  const configDir = join(home, 'config')
  const key = `sk-test-1${randomBytes(20).toString('hex')}`
  // A project of its own: what is always allowed is written into the one around it.
  mkdirSync(join(cwd, '.git'), { recursive: true })
  mkdirSync(configDir)
  writeFileSync(
    join(configDir, '.claude.json'),
    JSON.stringify({
      hasCompletedOnboarding: true,
      customApiKeyResponses: { approved: [key.slice(-20)] },
      projects: { [cwd]: { hasTrustDialogAccepted: true } },
    }),
  )
  const options: ClaudeTerminalOptions = {
    command: CLAUDE ?? 'claude',
    cwd,
    configDir,
    timeout: '20s',
    env: {
      HOME: home,
      TMPDIR: home,
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  }
  const open = (more: ClaudeTerminalOptions = {}, id = 'coder'): ClaudeTerminalNode => {
    const node = claudeTerminal(id, { ...options, ...more })
    nodes.push(node)
    return node
  }
  return { home, cwd, key, model, options, open }
}

export async function openHost(): Promise<Host> {
  const host = await createHost({ store: 'memory' })
  onTestFinished(() => host.close())
  return host
}

/** A run of one step on this node. */
export const oneTurn = (node: ClaudeTerminalNode) =>
  workflow('one-turn', (ctx, prompt: string): Promise<ClaudeResult> => ctx.run(node, prompt))

const PATIENCE_MS = 15_000

export async function until<Value>(
  look: () => Promise<Value | undefined> | Value | undefined,
  what: string,
): Promise<Value> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const value = await look()
    if (value !== undefined && value !== false) return value
    if (performance.now() > deadline) throw new Error(`${what} did not come true within ${PATIENCE_MS} ms`)
    await turn()
  }
}

/** The question that is open, once there is one. */
export async function question(host: Host, prompt: RegExp): Promise<Awaited<ReturnType<Host['inbox']>>[number]> {
  return until(async () => (await host.inbox()).find((one) => prompt.test(one.prompt)), `a question like ${prompt}`)
}

/** Waits until the screen of a node shows this. */
export async function shows(node: ClaudeTerminalNode, text: string | RegExp): Promise<string> {
  return until(
    async () => {
      const screen = (await node.screen()).rows.join('\n')
      return (typeof text === 'string' ? screen.includes(text) : text.test(screen)) ? screen : undefined
    },
    `the screen with ${String(text)}`,
  )
}

/** A key, as fast as a person at the screen could press it: a dialog that has just been drawn takes none. */
export async function press(node: ClaudeTerminalNode, key: string): Promise<void> {
  await delay(300)
  await node.write(key)
}

export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it did not reject')
}
