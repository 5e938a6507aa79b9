/** Exchanges that use all of what two formats have in common. */
import fc from 'fast-check'
import type {
  ModelMessage,
  ModelPart,
  ModelReply,
  ModelRequest,
  ModelTool,
  Picture,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  WireFormat,
} from '../../src/gateway/exchange.ts'
import { common, type Sayable } from './formats-sayable.ts'

const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
const proof = fc.stringMatching(/^[A-Za-z0-9+/]{4,16}={0,2}$/)
const json = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,6}$/),
  fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.integer())),
  {
    noNullPrototype: true,
    maxKeys: 3,
  },
)
const base64 = fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const some = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(arbitrary, { nil: undefined })
const rarely = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<readonly Value[]> =>
  fc.array(arbitrary, { maxLength: 2 })

function defined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Value
}

function file(can: Sayable): fc.Arbitrary<Picture> {
  const detail = can.detail ? some(fc.constantFrom('low', 'high')) : fc.constant(undefined)
  const mediaType = fc.constantFrom('image/png', 'image/jpeg')
  const kind = { type: fc.constant('file' as const) }
  const url = fc.constantFrom('https://example.com/a.png', 'https://example.com/b.png?c=1')
  const linked = fc.record({ ...kind, mediaType: fc.constant(can.exactLinks ? 'image/png' : 'image/*'), url, detail })
  const paper = { mediaType: fc.constant('application/pdf'), data: base64, name: some(fc.constant('paper.pdf')) }
  const shown = fc.oneof(fc.record({ ...kind, mediaType, data: base64, detail }), fc.record({ ...kind, ...paper }))
  return (can.links ? fc.oneof(shown, linked) : shown).map(defined) as fc.Arbitrary<Picture>
}

const plain: fc.Arbitrary<TextPart> = text.map((said) => ({ type: 'text', text: said }))

function thought(can: Sayable): fc.Arbitrary<ModelPart> {
  const proven = fc.record({ type: fc.constant('thinking' as const), text, signature: proof })
  const hidden = fc.record({ type: fc.constant('thinking' as const), text: fc.constant(''), hidden: proof })
  const bare = fc.record({ type: fc.constant('thinking' as const), text })
  return can.unprovenThoughts ? fc.oneof(proven, hidden, bare) : fc.oneof(proven, hidden)
}

function tool(can: Sayable): fc.Arbitrary<ModelTool> {
  const head = {
    name: fc.stringMatching(/^[a-z]{3,8}$/),
    description: some(text),
  }
  const schema = fc.constant({ type: 'object', properties: { path: { type: 'string' } } })
  const usual = fc.record({
    ...head,
    input: schema,
    strict: can.strict ? some(fc.constant(true)) : fc.constant(undefined),
  })
  const grammar = fc.constant({ syntax: 'lark', definition: 'start: "x"' })
  const freeform = fc.record({
    ...head,
    input: fc.constant({}),
    freeform: fc.record({ grammar: some(grammar) }).map(defined),
  })
  return (can.freeform ? fc.oneof(usual, freeform) : usual).map(defined) as fc.Arbitrary<ModelTool>
}

function callTo(tools: readonly ModelTool[], can: Sayable): fc.Arbitrary<ToolCallPart> {
  return fc.nat().chain((n) => {
    const chosen = tools[n % tools.length] as ModelTool
    const id = fc.uuid().map((uuid) => `call_${uuid}`)
    const head = { type: fc.constant('tool-call' as const), id, name: fc.constant(chosen.name) }
    if (chosen.freeform !== undefined) return fc.record({ ...head, input: text, freeform: fc.constant(true as const) })
    const signature = can.callProof ? some(proof) : fc.constant(undefined)
    return fc.record({ ...head, input: json, signature }).map(defined) as fc.Arbitrary<ToolCallPart>
  })
}

function resultOf(call: ToolCallPart, can: Sayable): fc.Arbitrary<ToolResultPart> {
  const texts = fc.array(plain, { maxLength: can.textsInResults ? 2 : 1 })
  const files = can.filesInResults ? fc.array(file(can), { maxLength: 1 }) : fc.constant([])
  return fc.tuple(texts, files, fc.boolean()).map(([said, shown, failed]) => ({
    type: 'tool-result',
    id: call.id,
    name: call.name,
    parts: [...said, ...shown],
    ...(failed && can.failedResults ? { failed } : {}),
  }))
}

/** A question, or results and what the user adds, with what the model made of it. */
function turn(
  before: readonly ToolCallPart[],
  tools: readonly ModelTool[],
  can: Sayable,
): fc.Arbitrary<readonly ModelMessage[]> {
  const results = fc.tuple(...before.map((call) => resultOf(call, can)))
  const asked = fc.array(fc.oneof(plain, file(can)), { minLength: before.length === 0 ? 1 : 0, maxLength: 3 })
  const between = can.instructionsBetween ? rarely(plain) : fc.constant([])
  const answer = assistantParts(tools, can).map((parts) => (can.pieces ? parts : unmerged(parts)))
  return fc
    .tuple(results, asked, between, answer)
    .map(([told, said, instructions, answered]) => [
      { role: 'user', parts: [...told, ...said] },
      ...(instructions.length === 0 ? [] : [{ role: 'system' as const, parts: instructions }]),
      ...(answered.length === 0 ? [] : [{ role: 'assistant' as const, parts: answered }]),
    ])
}

function assistantParts(tools: readonly ModelTool[], can: Sayable): fc.Arbitrary<readonly ModelPart[]> {
  const refusal = can.refusals
    ? rarely(text.map((said) => ({ type: 'text' as const, text: said, refusal: true as const })))
    : fc.constant([])
  const calls = tools.length === 0 ? fc.constant([]) : rarely(callTo(tools, can))
  const parts = fc.tuple(rarely(thought(can)), rarely(plain), refusal, calls)
  return parts.chain(([thoughts, texts, refused, called]) => {
    const ordered: readonly ModelPart[] = [...thoughts, ...texts, ...refused, ...called]
    return can.anyOrder ? fc.shuffledSubarray([...ordered], { minLength: ordered.length }) : fc.constant(ordered)
  })
}

function conversation(tools: readonly ModelTool[], can: Sayable): fc.Arbitrary<readonly ModelMessage[]> {
  const grow = (length: number, before: readonly ModelMessage[]): fc.Arbitrary<readonly ModelMessage[]> => {
    const last = before.at(-1)
    const open = last?.role === 'assistant' ? last.parts.filter((part) => part.type === 'tool-call') : []
    if (length === 0 || (before.length > 0 && last?.role !== 'assistant')) return fc.constant(before)
    return turn(open, tools, can).chain((more) =>
      more[0]?.parts.length === 0 ? fc.constant(before) : grow(length - 1, [...before, ...more]),
    )
  }
  return fc.integer({ min: 1, max: 3 }).chain((length) => grow(length, []))
}

function choiceOf(tools: readonly ModelTool[], can: Sayable): fc.Arbitrary<ModelRequest['toolChoice']> {
  if (tools.length === 0) return fc.constant(undefined)
  const names = tools.map(({ name }) => name)
  const one = fc.constantFrom(...names).map((name) => ({ tool: name }))
  const words = fc.constantFrom('auto', 'none', 'required' as const)
  const several = fc.record({ tools: fc.constant(names), required: fc.boolean() })
  return some(can.subset && names.length > 1 ? fc.oneof(words, one, several) : fc.oneof(words, one))
}

const NUMBERS = {
  temperature: fc.constantFrom(0, 0.5, 1),
  topP: fc.constantFrom(0.1, 0.9),
  topK: fc.constantFrom(1, 40),
  seed: fc.nat(99),
  presencePenalty: fc.constantFrom(-1, 0.5),
  frequencyPenalty: fc.constantFrom(-1, 0.5),
  stop: fc.array(text, { minLength: 1, maxLength: 2 }),
  user: fc.constant('user-1'),
  verbosity: fc.constantFrom('low', 'medium', 'high'),
}

function optionsOf(can: Sayable): fc.Arbitrary<Partial<ModelRequest>> {
  const fields = Object.entries(NUMBERS).filter(([name]) => can.fields.includes(name as keyof ModelRequest))
  const schema = fc.constant({ type: 'object', properties: { a: { type: 'string' } } })
  const words = can.jsonWords
    ? { name: some(fc.constant('shape')), description: some(text), strict: some(fc.boolean()) }
    : {}
  const shaped = fc.record({ schema, ...words }).map(defined)
  const reply = can.jsonWithoutSchema ? fc.oneof(shaped, fc.constant({})) : shaped
  const show = can.show.length === 0 ? fc.constant(undefined) : some(fc.constantFrom(...can.show))
  const efforts = fc.constantFrom(...can.efforts).map((effort) => ({ effort }))
  const thinking = can.budget
    ? fc.oneof(
        efforts,
        fc.constantFrom(1_024, 5_000).map((budget) => ({ budget })),
      )
    : efforts
  const shown = fc.tuple(thinking, show).map(([how, whether]) => {
    return 'effort' in how && how.effort === 'none' ? how : defined({ ...how, show: whether })
  })
  const numbers = Object.fromEntries(fields.map(([name, one]) => [name, some(one as fc.Arbitrary<unknown>)]))
  return fc.record({ ...numbers, json: some(reply), thinking: some(shown) }) as fc.Arbitrary<Partial<ModelRequest>>
}

/** Requests that both formats can say. */
export function requestFor(one: WireFormat, other: WireFormat): fc.Arbitrary<ModelRequest> {
  const can = common(one, other)
  const tools = fc.uniqueArray(tool(can), { maxLength: 3, selector: ({ name }) => name })
  return tools.chain((offered) => {
    const parallel =
      offered.length === 0 || can.manyAtOnce.length === 0
        ? fc.constant(undefined)
        : some(fc.constantFrom(...can.manyAtOnce))
    const main = fc.record({
      model: fc.constant('model-1'),
      system: rarely(text),
      messages: conversation(offered, can),
      tools: fc.constant(offered),
      toolChoice: choiceOf(offered, can),
      parallelTools: parallel,
      maxTokens: fc.constant(8_000),
      stream: fc.boolean(),
    })
    return fc
      .tuple(main, optionsOf(can))
      .map(([request, options]) => allowed(defined({ ...request, ...options }) as ModelRequest, one, other))
  })
}

/** Anthropic refuses some things beside each other, which its writer leaves out. */
function allowed(request: ModelRequest, ...formats: readonly WireFormat[]): ModelRequest {
  if (!formats.includes('anthropic')) return request
  const { thinking, toolChoice } = request
  const single =
    toolChoice === 'none'
      ? { ...request, parallelTools: undefined }
      : toolChoice === undefined && request.parallelTools === false
        ? { ...request, toolChoice: 'auto' as const }
        : request
  if (thinking === undefined || thinking.effort === 'none') return defined(single) as ModelRequest
  const { temperature: _t, topP: _p, topK: _k, ...rest } = single
  const forced = toolChoice !== undefined && toolChoice !== 'auto' && toolChoice !== 'none'
  const last = request.messages.findLast(({ role }) => role === 'assistant')
  const loop = thinking.budget !== undefined && last?.parts.some(({ type }) => type === 'tool-call')
  return defined(forced || loop ? { ...rest, thinking: undefined } : rest) as ModelRequest
}

/** Replies that both formats can say. */
export function replyFor(one: WireFormat, other: WireFormat): fc.Arbitrary<ModelReply> {
  const can = common(one, other)
  const tools: ModelTool[] = [
    { name: 'read', input: {} },
    ...(can.freeform ? [{ name: 'patch', input: {}, freeform: {} }] : []),
  ]
  return fc
    .record({
      parts: assistantParts(tools, can).map(unmerged),
      short: fc.boolean(),
      usage: usage(can),
      createdAt: can.time ? fc.nat(2_000_000_000).map((seconds) => (seconds + 1) * 1_000) : fc.constant(undefined),
    })
    .map(({ parts, short, ...rest }) =>
      defined({ id: 'reply-1', model: 'model-1', parts, stop: stopOf(parts, short), ...rest }),
    ) as fc.Arbitrary<ModelReply>
}

function stopOf(parts: readonly ModelPart[], short: boolean): ModelReply['stop'] {
  if (short) return 'length'
  if (parts.some(({ type }) => type === 'tool-call')) return 'tool'
  return parts.some((part) => part.type === 'text' && part.refusal === true) ? 'refused' : 'end'
}

function unmerged(parts: readonly ModelPart[]): readonly ModelPart[] {
  return parts.filter((part, at) => !merges(part, parts[at - 1]))
}

/** Texts that follow each other are one where a format has one text; so are thoughts without proof. */
function merges(part: ModelPart, before: ModelPart | undefined): boolean {
  if (part.type === 'text') return before?.type === 'text' && before.refusal === part.refusal
  return (
    part.type === 'thinking' &&
    before?.type === 'thinking' &&
    before.signature === undefined &&
    before.hidden === undefined
  )
}

function usage(can: Sayable): fc.Arbitrary<ModelReply['usage']> {
  const part = fc.integer({ min: 1, max: 50 })
  return fc
    .record({
      fresh: fc.integer({ min: 1, max: 99 }),
      said: part,
      cacheRead: some(part),
      cacheWrite: can.cacheWrite ? some(part) : fc.constant(undefined),
      thinking: some(part),
    })
    .map(({ fresh, said, cacheRead, cacheWrite, thinking }) =>
      defined({
        input: fresh + (cacheRead ?? 0) + (cacheWrite ?? 0),
        output: said + (thinking ?? 0),
        cacheRead,
        cacheWrite,
        thinking,
      }),
    ) as fc.Arbitrary<ModelReply['usage']>
}
