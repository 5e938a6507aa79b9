/** The definitions that Nerve brings along. Their runs can be driven on by any process: what they are made of is in their input. */
import type { AnyDefinition } from '../../engine/definition.ts'
import { ralphCommand } from './ralph-command.ts'

export function builtIn(name: string): AnyDefinition | undefined {
  return name === ralphCommand.name ? ralphCommand : undefined
}
