/** `nerve call`: every line of the contract, by its name. Knows none of them: what there is and what it takes, the contract says. */
import { NerveError } from '../../../base/nerve-error.ts'
import { contract, isFeed, type CallName, type FeedName, type Name } from '../../../host/contract/contract.ts'
import type { EventItem } from '../../client/events.ts'
import { contractClient, type ContractClient } from '../contract-client.ts'
import { checkFields, contractName, entryData, fieldsOf, inputOf, outputText, schemas } from '../contract-entry.ts'
import type { Invocation } from '../dispatch.ts'
import { eventData, eventLine, joined } from '../event-lines.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import type { Output } from '../output.ts'
import { brief, oneLine, readable } from '../printable.ts'
import { unlessEnded, untilSignal, type Watching } from '../until-signal.ts'
import { pairsIn, readText } from '../values.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { args, out } = invocation
  const [wanted, text] = args.words
  const pairs = pairsIn(args.texts('param'), '--param')
  if (wanted === undefined) {
    if (args.flag('schema') || pairs.length > 0) throw new UsageError('nerve call: which NAME? See: nerve call')
    return list(out)
  }
  const name = contractName(wanted)
  if (args.flag('schema')) return show(out, name)
  // Everything that can be wrong with the call is found before anything is opened for it.
  const input = inputOf(name, text === undefined ? {} : await readFields(name, text), pairs)
  await checkFields(name, input)
  const watching = untilSignal()
  try {
    return await ask(invocation, { name, input, watching })
  } finally {
    watching.release()
  }
}

function list(out: Output): number {
  const names = Object.keys(contract).map(contractName)
  out.data(names.map(entryData))
  const width = Math.max(...names.map((name) => name.length))
  for (const name of names) {
    const { kind, scope, summary } = contract[name]
    out.line(`${name.padEnd(width)}  ${kind.padEnd(7)}  ${scope.padEnd(7)}  ${summary}`)
  }
  return EXIT.done
}

function show(out: Output, name: Name): number {
  const entry = entryData(name)
  const { input, output } = schemas(name)
  out.data({ ...entry, input, output })
  const { kind, scope, summary } = contract[name]
  const where = entry['local'] === true ? ', only on this machine' : ''
  out.line(`${name}: ${kind}, needs the scope ${scope}${where}`)
  out.line(`${summary}.`)
  const fields = fieldsOf(input)
  out.line()
  out.line(fields.length === 0 ? 'It takes no fields.' : 'Fields:')
  const width = Math.max(...fields.map((field) => field.name.length))
  for (const { name: field, type, needed, about } of fields)
    out.line(`  ${joined(field.padEnd(width), `${type}${needed ? ', needed' : ''}`, about)}`)
  out.line()
  out.line(`${kind === 'feed' ? 'Each item' : 'Gives'}: ${outputText(output)}`)
  return EXIT.done
}

async function readFields(name: Name, text: string): Promise<object> {
  const from = text === '-' ? 'stdin' : text.startsWith('@') ? text : 'INPUT'
  const wrong = (why: string): UsageError =>
    new UsageError(
      `nerve call ${name}: ${from} ${why}. Give an object of its fields as JSON. See: nerve call ${name} --schema`,
    )
  let value: unknown
  try {
    value = JSON.parse(await readText(text))
  } catch (error) {
    if (error instanceof SyntaxError) throw wrong(`is not JSON (${oneLine(error.message)})`)
    throw error
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw wrong(`is ${brief(value, 40)}`)
}

interface Asked {
  readonly name: Name
  readonly input: object
  readonly watching: Watching
}

async function ask(invocation: Invocation, asked: Asked): Promise<number> {
  const { name, watching } = asked
  const contracted = await contractClient(invocation, name)
  try {
    if (isFeed(name)) await follow(invocation.out, contracted, { ...asked, name })
    else await answer(invocation.out, contracted, { ...asked, name })
    return EXIT.done
  } finally {
    await contracted.end(watching.signal)
  }
}

async function answer(out: Output, { client }: ContractClient, asked: Asked & { name: CallName }): Promise<void> {
  const { name, input, watching } = asked
  const call = client.call(name, input as never).then((value: unknown) => ({ value }))
  const answered = await unlessEnded(call, watching.signal)
  if (answered === undefined)
    throw new NerveError('cancelled', `Nobody waited for the answer of ${name}: whether it was done is not known.`)
  out.data(answered.value)
  out.line(readable(answered.value))
}

async function follow(
  out: Output,
  { client, revive }: ContractClient,
  { name, input, watching }: Asked & { name: FeedName },
): Promise<void> {
  const { signal, leave } = watching
  let cursor: string | undefined
  let problem: unknown
  const onLost = (): void =>
    void revive?.().catch((error: unknown) => {
      problem = error
      leave()
    })
  const onCursor = (place: string): void => void (cursor = place)
  for await (const item of client.feed(name, input, { signal, onLost, onCursor })) {
    out.data('seq' in item ? eventData(item, out.verbose) : item)
    out.line(itemLine(item))
  }
  if (problem !== undefined) throw problem
  const goesOn = fieldsOf(schemas(name).input).some(({ name: field }) => field === 'after')
  if (signal.aborted && goesOn && cursor !== undefined)
    process.stderr.write(`nerve: To go on from here: --param after='${cursor}'\n`)
}

function itemLine(item: EventItem): string {
  if ('seq' in item) return `${item.run}  ${String(item.seq).padStart(5)}  ${eventLine(item)}`
  const { live: _live, run: of, type, ...rest } = item
  return joined(of, type, Object.keys(rest).length === 0 ? '' : brief(rest, 200))
}
