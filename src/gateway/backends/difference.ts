/** Where two values differ, in words: for people who wonder why a recording was not found. */

export interface Difference {
  readonly path: string
  readonly recorded: string
  readonly asked: string
}

const SHOWN = 60
const BEFORE = 15

export function differences(recorded: unknown, asked: unknown, path = ''): Difference[] {
  if (Object.is(recorded, asked)) return []
  if (isContainer(recorded) && isContainer(asked) && Array.isArray(recorded) === Array.isArray(asked)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(asked)])
    return [...names].flatMap((name) => {
      const at = Array.isArray(recorded) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
      return differences(recorded[name as never], asked[name as never], at)
    })
  }
  if (typeof recorded === 'string' && typeof asked === 'string') return [textDifference(recorded, asked, path)]
  return [{ path, recorded: show(recorded), asked: show(asked) }]
}

/** Long texts are shown from a little before the place where they part. */
function textDifference(recorded: string, asked: string, path: string): Difference {
  let same = 0
  while (same < recorded.length && same < asked.length && recorded[same] === asked[same]) same += 1
  const from = Math.max(0, same - BEFORE)
  const part = (text: string): string => {
    const shown = text.slice(from, from + SHOWN)
    return JSON.stringify(`${from > 0 ? '…' : ''}${shown}${from + SHOWN < text.length ? '…' : ''}`)
  }
  return { path, recorded: part(recorded), asked: part(asked) }
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value) ?? typeof value
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}
