/** For SDKs that start a program of theirs by themselves: which one it is, and what they are told instead in a sandbox. */
import { dirname, join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { isProgram } from '../program-on-path.ts'
import type { AgentOpen } from './adapter.ts'
import { packageFolder } from './load-package.ts'

export interface SdkProgram {
  /** Whose it is, for messages. */
  readonly name: string
  /** Where it is, when it was said. */
  readonly command: string | undefined
  /** The file of the SDK. */
  readonly sdk: string | undefined
  /** The package for this machine, as the SDK has it, and the program in it. */
  readonly package: string
  readonly file: readonly string[]
}

/** What the SDK is told to start; nothing when it may start its own. */
export function sdkProgram(
  program: SdkProgram,
  { wrap }: Pick<AgentOpen, 'wrap'>,
): { readonly path?: string; readonly args?: readonly string[] } {
  const { name, command } = program
  const found = command ?? programBeside(program)
  if (wrap === undefined) return found === undefined ? {} : startable(found)
  if (found === undefined) {
    const why = 'the program that its SDK starts was not found, and nothing is started without its sandbox'
    throw new NerveError('sandbox-missing', `${name}: ${why}. Say where it is: ${name}Agent({ command }).`)
  }
  const { file: path, args } = wrap({ file: found, args: [] })
  return { path, args }
}

/**
 * What cannot be started at all, such as a program for another system, is not caught by every SDK, and would end this process. A
 * shell can be started, and says of it that it has ended. Scripts are started by Node.
 */
function startable(file: string): { readonly path: string; readonly args?: readonly string[] } {
  const known = file.endsWith('.js') || process.platform === 'win32'
  return known ? { path: file } : { path: '/bin/sh', args: ['-c', 'exec "$0" "$@"', file] }
}

function programBeside({ sdk, package: name, file }: SdkProgram): string | undefined {
  const folder = sdk === undefined ? undefined : packageFolder(name, dirname(sdk))
  const program = folder === undefined ? undefined : join(folder, ...file)
  return program !== undefined && isProgram(program) ? program : undefined
}
