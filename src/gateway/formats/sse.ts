/** Server-sent events: the text protocol in which all four formats stream. */

export interface SseFrame {
  readonly event?: string
  readonly data: string
}

export interface SseParser {
  push(chunk: string | Uint8Array): readonly SseFrame[]
  /** What was left when the stream ended without its last empty line. */
  end(): readonly SseFrame[]
}

/** Bytes in pieces of any size, in frames out: a character, a line end or a frame may be split anywhere. */
export function sseParser(): SseParser {
  const decoder = new TextDecoder()
  let rest = ''
  let event: string | undefined
  let data: string[] = []

  const dispatch = (): readonly SseFrame[] => {
    const frame = { ...(event === undefined ? {} : { event }), data: data.join('\n') }
    const empty = data.length === 0
    event = undefined
    data = []
    return empty ? [] : [frame]
  }
  const line = (text: string): readonly SseFrame[] => {
    if (text === '') return dispatch()
    const colon = text.indexOf(':')
    const field = colon === -1 ? text : text.slice(0, colon)
    const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    return []
  }
  const take = (text: string, last: boolean): readonly SseFrame[] => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    const frames = lines.flatMap(line)
    if (!last) return frames
    const tail = [...line(rest.replace(/\r$/, '')), ...dispatch()]
    rest = ''
    return [...frames, ...tail]
  }

  return {
    push: (chunk) => take(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }), false),
    end: () => take(decoder.decode(), true),
  }
}

export function sseFrame(data: unknown, event?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}
