/** Passes calls on to another back end and keeps what came of them. Calls that a client broke off are not kept. */
import type { Answer, Backend, BackendCall, BytesAnswer } from '../backend.ts'
import type { ModelRequest, ReplyEvent } from '../exchange.ts'
import { FORMATS } from '../formats/formats.ts'
import { replyCollector, type Collected } from '../formats/reply-events.ts'
import { readBytes } from '../read-bytes.ts'
import { kept, writeRecording, type RecordingOptions } from './recordings.ts'

export interface RecordOptions extends RecordingOptions {
  readonly backend: Backend
}

type Keep = (outcome: Collected) => Promise<void>

export function record(options: RecordOptions): Backend {
  const { backend } = options
  return {
    ...backend,
    name: `record ${backend.name}`,
    async answer(request, call) {
      const answer = await backend.answer(request, call)
      const asked = kept(request, options)
      const keep: Keep = (outcome) =>
        writeRecording(
          options,
          asked,
          outcome.type === 'reply' ? { reply: outcome.reply } : { failure: outcome.failure },
        )
      return keeping(answer, keep, { request, call })
    },
  }
}

interface Exchanged {
  readonly request: ModelRequest
  readonly call: BackendCall
}

async function keeping(answer: Answer, keep: Keep, exchanged: Exchanged): Promise<Answer> {
  switch (answer.type) {
    case 'reply':
    case 'failed':
      await keep(answer)
      return answer
    case 'events':
      return { type: 'events', events: keptEvents(answer.events, keep) }
    case 'bytes':
      return { ...answer, body: keptBytes(answer, keep, exchanged) }
  }
}

async function* keptEvents(events: AsyncIterable<ReplyEvent>, keep: Keep): AsyncGenerator<ReplyEvent> {
  const collector = replyCollector()
  for await (const event of events) {
    collector.push(event)
    yield event
  }
  await keep(collector.done())
}

async function* keptBytes(answer: BytesAnswer, keep: Keep, { request, call }: Exchanged): AsyncGenerator<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const bytes of answer.body) {
    pieces.push(bytes)
    yield bytes
  }
  if (answer.failure !== undefined) return keep({ type: 'failed', failure: answer.failure })
  await keep(readBytes(Buffer.concat(pieces), { format: FORMATS[call.format], request, stream: answer.stream }))
}
