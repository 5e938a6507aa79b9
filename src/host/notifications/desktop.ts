/** Notifications on the desktop, by the program that the system has for it. Texts are arguments: no shell and no script sees them. */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import type { Notification } from './notification.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface Desktop {
  show(notification: Notification, signal: AbortSignal): Promise<void>
}

const TIMEOUT_MS = 10_000
const MOST_TEXT = 300

/** The desktop of whoever runs this process, or why there is none. */
export function findDesktop(platform: NodeJS.Platform, env: Environment): Desktop | { readonly missing: string } {
  if (platform === 'darwin') return desktop('/usr/bin/osascript', appleArguments, env)
  if (platform !== 'linux') return { missing: `they are not known on ${platform}` }
  if (!isSet(env['DISPLAY']) && !isSet(env['WAYLAND_DISPLAY']))
    return { missing: 'neither DISPLAY nor WAYLAND_DISPLAY is set' }
  const program = inPath('notify-send', env)
  return program === undefined ? { missing: 'there is no notify-send' } : desktop(program, linuxArguments, env)
}

type Arguments = (title: string, text: string) => readonly string[]

function desktop(program: string, argumentsOf: Arguments, env: Environment): Desktop {
  return {
    show: (notification, signal) => {
      const { title, text } = wordsOf(notification)
      return start(program, argumentsOf(title, text), { env, signal })
    },
  }
}

/** Servers take the text for markup, and notify-send takes backslashes in it for escapes. */
function linuxArguments(title: string, text: string): readonly string[] {
  const plain = text.replaceAll('\\', '\\\\').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return ['--app-name=Nerve', '--', title, plain]
}

/** The script is always the same, and gets the texts as its arguments: so there is nothing to escape. */
function appleArguments(title: string, text: string): readonly string[] {
  const script = ['on run texts', 'display notification (item 2 of texts) with title (item 1 of texts)', 'end run']
  return [...script.flatMap((line) => ['-e', line]), title, text]
}

function wordsOf(notification: Notification): { readonly title: string; readonly text: string } {
  const { type, definition, question, error, output = '', budget, failures = 0 } = notification
  const titled = (what: string): string => oneLine(`Nerve: ${definition} ${what}`)
  switch (type) {
    case 'question':
      return { title: titled('asks'), text: oneLine(question?.prompt ?? '') }
    case 'completed':
      return { title: titled(failures === 0 ? 'is done' : `is done, ${failures} failed`), text: oneLine(output) }
    case 'failed':
      return { title: titled('failed'), text: oneLine(error?.message ?? '') }
    default:
      return {
        title: titled('has spent its budget'),
        text: `${budget?.dimension}: ${budget?.used} of ${budget?.limit}`,
      }
  }
}

// Besides control characters, those that turn the direction of the text: they can make a line read as another.
// oxlint-disable-next-line no-control-regex -- finding control characters is the point
const CONTROLS = /[\u0000-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069\s]+/g

function oneLine(text: string): string {
  const line = text.replace(CONTROLS, ' ').trim()
  return line.length > MOST_TEXT ? `${line.slice(0, MOST_TEXT)}…` : line
}

function start(
  program: string,
  args: readonly string[],
  { env, signal }: { readonly env: Environment; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'ignore', env: { ...env }, timeout: TIMEOUT_MS, signal })
    const failed = (why: string, cause?: unknown): void =>
      reject(
        new NerveError('command-failed', `A notification was not shown on the desktop: ${program} ${why}.`, {
          data: { reason: 'program' },
          ...(cause === undefined ? {} : { cause }),
        }),
      )
    child.once('error', (cause) => failed(`could not be started: ${cause.message}`, cause))
    child.once('exit', (code, by) => {
      if (code === 0) resolve()
      else failed(code === null ? `was ended by ${by}` : `ended with ${code}`)
    })
  })
}

function inPath(name: string, env: Environment): string | undefined {
  const files = (env['PATH'] ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
  return files.find((file) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      // Not here; the next folder may have it.
      return false
    }
  })
}

function isSet(variable: string | undefined): boolean {
  return variable !== undefined && variable !== ''
}
