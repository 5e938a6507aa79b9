/** Reads server-sent events from the body of a response, as the HTML standard has them. */

export interface ServerSentEvent {
  readonly event: string
  readonly data: string
  /** The id of this event; undefined when it has none of its own. */
  readonly id?: string
}

export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void, void> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let rest = ''
  let block: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line !== '' && line !== '\r') block.push(line.replace(/\r$/, ''))
        else {
          if (block.length > 0) yield eventOf(block)
          block = []
        }
      }
    }
  } finally {
    // Who stops reading does not want the rest either. It may be broken, which is no news here.
    await reader.cancel().catch(() => undefined)
  }
}

function eventOf(block: readonly string[]): ServerSentEvent {
  let event = 'message'
  let id: string | undefined
  const data: string[] = []
  for (const line of block) {
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (field === 'event') event = value
    else if (field === 'id') id = value
    else if (field === 'data') data.push(value)
  }
  return { event, data: data.join('\n'), ...(id === undefined ? {} : { id }) }
}
