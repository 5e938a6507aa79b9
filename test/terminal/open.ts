/** Terminals that are closed after the test, also when it fails, and what is left of them when they should be gone. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { tmpdir } from 'node:os'
import { terminal, type TerminalNode, type TerminalOptions } from 'nerve/terminal'
import { onTestFinished } from 'vitest'

let count = 0

/** A terminal in a home of its own. */
export function open(options: TerminalOptions = {}): TerminalNode {
  count += 1
  const shell = terminal(`t${count}`, { command: 'bash', cwd: tmpdir(), timeout: '20s', ...options })
  onTestFinished(() => shell.stop())
  return shell
}

export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'nerve-terminal-test-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

export function installed(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((place) => existsSync(join(place, program)))
}

/** Waits until something holds, looking again whenever the terminal prints. */
export async function until(shell: TerminalNode, holds: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not in time; the terminal shows:\n${shell.readTail(30)}`)
    await printed(shell)
  }
}

/** The next time it prints; or a moment later, for what can be seen without printing. */
function printed(shell: TerminalNode): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const forget = shell.watch(() => resolve())
  const late = setTimeout(resolve, 50)
  return promise.finally(() => {
    forget()
    clearTimeout(late)
  })
}

export function alive(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return !/^[ZX]/.test(text.slice(text.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}

export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}

/** Children of this process, zombies among them. */
export function children(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
        return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]) === process.pid
      } catch {
        return false
      }
    })
}
