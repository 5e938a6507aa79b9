/** What is sent to a session runs in a run of its own. */
import { workflow } from '../../define/workflow.ts'
import type { AnyRunnable, Definition } from '../../engine/definition.ts'
import { isDefinition } from '../../engine/run-node.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Actor } from '../../journal/events.ts'
import type { Handle } from '../handle.ts'
import type { Host } from '../host.ts'
import type { Sent } from './session.ts'

const ENDING = ':send'

/** The name of the definition of such runs. */
export function sendingName(session: string): string {
  return `${session}${ENDING}`
}

/** The session that a definition of this name belongs to; undefined when it is another definition. */
export function sessionOfSending(definition: string): string | undefined {
  return definition.endsWith(ENDING) ? definition.slice(0, -ENDING.length) : undefined
}

/** The definition of such runs, with what is meant by the names of nodes. */
export function sendingDefinition(session: string, meant: (name: string) => AnyRunnable | string): Definition<Sent> {
  return workflow(sendingName(session), (ctx, { node, input }: Sent) => {
    const found = meant(node)
    const options = { label: node }
    return typeof found === 'string' ? ctx.run(found, input, options) : ctx.run(found, input, options)
  })
}

/** Starts the run, and does not wait for its end. */
export function startSend(host: Host, session: string, sent: Sent, actor: Actor = {}): Promise<Handle> {
  const definition = host.registry.names.get(sendingName(session))
  if (!isDefinition(definition)) throw new NerveError('not-ready', `Session '${session}' is not open.`)
  return host.start<unknown, unknown>(definition, sent, actor)
}
