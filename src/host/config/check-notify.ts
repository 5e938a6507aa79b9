/** What a project file says about notifications, checked. */
import { nearest } from '../../base/nearest.ts'
import { shown } from '../../base/shown.ts'
import { NOTIFY_KINDS } from '../notifications/notification.ts'

/** Everything that is wrong with it. */
export function checkNotify(given: unknown): readonly string[] {
  if (given === undefined) return []
  if (!isFields(given)) return ['notify: give an object.']
  const { desktop, webhooks = [] } = given
  const problems = unknownFields('notify', given, ['desktop', 'webhooks'])
  if (desktop !== undefined && typeof desktop !== 'boolean') problems.push('notify.desktop: give true or false.')
  if (!Array.isArray(webhooks)) return [...problems, 'notify.webhooks: give a list.']
  const all: readonly unknown[] = webhooks
  const addresses = all.map((one) => (isFields(one) ? one['url'] : undefined))
  for (const [index, one] of all.entries()) {
    const at = `notify.webhooks[${index}]`
    problems.push(...checkWebhook(at, one))
    if (addresses[index] !== undefined && addresses.indexOf(addresses[index]) < index)
      problems.push(`${at}.url: it is used twice. Keep one of them, with all that it is told of.`)
  }
  return problems
}

function checkWebhook(at: string, given: unknown): readonly string[] {
  if (!isFields(given)) return [`${at}: give an object: { url, secretEnv }.`]
  const { url, secretEnv, on } = given
  const problems = unknownFields(at, given, ['url', 'secretEnv', 'on'])
  const wrong = wrongAddress(url)
  if (wrong !== undefined) problems.push(`${at}.url: ${wrong}`)
  // The value is not repeated: it may be the secret itself.
  if (typeof secretEnv !== 'string' || !/^[A-Za-z_]\w*$/.test(secretEnv))
    problems.push(`${at}.secretEnv: give the name of the environment variable that has the secret, not the secret.`)
  if (on === undefined) return problems
  if (!Array.isArray(on) || on.length === 0)
    return [...problems, `${at}.on: give a list of what it is told of: ${NOTIFY_KINDS.join(', ')}.`]
  for (const kind of on as readonly unknown[]) {
    if (NOTIFY_KINDS.some((known) => known === kind)) continue
    problems.push(`${at}.on: ${shown(kind)} is nothing to be told of. ${hint(kind, NOTIFY_KINDS)}`)
  }
  return problems
}

function wrongAddress(url: unknown): string | undefined {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  if (parsed === null) return `${typeof url === 'string' ? 'this is not an address' : 'it is missing'}. Give https://….`
  const { protocol, username, password } = parsed
  if (protocol !== 'https:' && protocol !== 'http:')
    return `${shown(protocol)} is not for webhooks: give https://… or http://….`
  if (username !== '' || password !== '')
    return 'leave out the name and the password: requests are signed with the secret.'
  return undefined
}

function unknownFields(at: string, given: object, known: readonly string[]): string[] {
  const others = Object.keys(given).filter((name) => !known.includes(name))
  return others.map((name) => `${at}.${name}: there is no such field. ${hint(name, known)}`)
}

function hint(word: unknown, known: readonly string[]): string {
  const meant = typeof word === 'string' ? nearest(word, known) : undefined
  return meant === undefined ? `Known: ${known.join(', ')}.` : `Did you mean '${meant}'?`
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
