/** Parts of Google's Gemini format, which requests and replies share. */
import type { ModelPart, Picture, TextPart, ToolResultPart } from '../exchange.ts'
import { isFields, looseFields, looseList, looseText, present, type Fields } from './fields.ts'
import { exactType } from './media.ts'

/** Both spellings are taken: Google's JSON may have either. */
export function field(fields: Fields, name: string): unknown {
  return fields[name] ?? fields[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]
}

/** Stands in for the proof of a call that another model made; Google documents it for this. */
const NO_PROOF = 'skip_thought_signature_validator'

export function signatureIn(part: Fields): { readonly signature?: string } {
  const signature = looseText(field(part, 'thoughtSignature'))
  return signature === '' || signature === NO_PROOF ? {} : { signature }
}

/** Calls and results need ids from elsewhere; whoever reads them gives those. */
export function readGeminiPart(part: Fields): ModelPart | undefined {
  if (part['thought'] === true) return readThought(part)
  if (typeof part['text'] === 'string') return { type: 'text', text: part['text'] }
  return readFile(part)
}

function readThought(part: Fields): ModelPart {
  const { signature } = signatureIn(part)
  if (typeof part['text'] !== 'string') return { type: 'thinking', text: '', ...present({ hidden: signature }) }
  return { type: 'thinking', text: part['text'], ...present({ signature }) }
}

function readFile(part: Fields): Picture | undefined {
  const inline = looseFields(field(part, 'inlineData'))
  const linked = looseFields(field(part, 'fileData'))
  const name = looseText(field(inline, 'displayName') ?? field(linked, 'displayName'))
  const named = name === '' ? {} : { name }
  const mediaType = looseText(field(inline, 'mimeType') ?? field(linked, 'mimeType'))
  if (typeof inline['data'] === 'string') return { type: 'file', mediaType, data: inline['data'], ...named }
  const url = looseText(field(linked, 'fileUri'))
  return url === '' ? undefined : { type: 'file', mediaType: mediaType || 'image/*', url, ...named }
}

function writeFile({ data, url, name, mediaType, ...rest }: Picture): Fields {
  const displayName = present({ displayName: name })
  if (data !== undefined) return { inlineData: { mimeType: mediaType, data, ...displayName } }
  return {
    fileData: { mimeType: exactType({ ...rest, mediaType, ...present({ url }) }), fileUri: url, ...displayName },
  }
}

/** A part; calls and results are written by who knows what is around them. */
export function writeGeminiPart(part: ModelPart): Fields | undefined {
  switch (part.type) {
    case 'text':
      return { text: part.text }
    case 'file':
      return writeFile(part)
    case 'thinking':
      if (part.hidden !== undefined) return { thought: true, thoughtSignature: part.hidden }
      return { text: part.text, thought: true, ...present({ thoughtSignature: part.signature }) }
    case 'other':
      return part.format === 'gemini' ? looseFields(part.value) : undefined
    case 'tool-call':
    case 'tool-result':
      return undefined
    default:
      return part satisfies never
  }
}

/** A result is an object here; its text is its output or its error. */
export function readResult(response: Fields, id: string): ToolResultPart {
  const value = looseFields(response['response'])
  const files = looseList(response['parts']).flatMap((part) => readFile(part) ?? [])
  const failed = typeof value['error'] === 'string' && Object.keys(value).length === 1
  const text = resultText(value)
  const said: TextPart[] = text === '' ? [] : [{ type: 'text', text }]
  const head = { type: 'tool-result', id, name: looseText(response['name']), parts: [...said, ...files] } as const
  return failed ? { ...head, failed } : head
}

/** The text where there is nothing else than one, under one of the names that clients use; else all of it. */
function resultText(value: Fields): string {
  const names = Object.keys(value)
  if (names.length === 0) return ''
  const only = names.length === 1 || (names.length === 2 && 'name' in value && 'content' in value)
  const said = [value['output'], value['error'], value['result'], value['content']].find(
    (one) => typeof one === 'string',
  )
  return only && typeof said === 'string' ? said : JSON.stringify(value)
}

export function writeResult({ id, name, parts, failed }: ToolResultPart): Fields {
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const files = parts.flatMap((part) => (part.type === 'file' ? [writeFile(part)] : []))
  const response = failed === true ? { error: text } : { output: text }
  return { functionResponse: { id, name, response, ...(files.length === 0 ? {} : { parts: files }) } }
}

export function writeProof(signature: string | undefined, model: string | undefined): Fields {
  if (signature !== undefined) return { thoughtSignature: signature }
  // Earlier models neither ask for it nor know the stand-in.
  return model === undefined || /gemini-[12]\b/.test(model) ? {} : { thoughtSignature: NO_PROOF }
}

/** Google's own schemas are almost JSON Schema: types in capitals, and `nullable`. */
export function readSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(readSchema)
  if (!isFields(schema)) return schema
  const { type, nullable, ...rest } = schema
  const entries = Object.entries(rest).map(([name, value]) => [name, readKeyword(name, value)] as const)
  const said = typeof type === 'string' ? type.toLowerCase() : type
  const typed = said === undefined ? {} : { type: nullable === true ? [said, 'null'] : said }
  return { ...typed, ...Object.fromEntries(entries) }
}

const OF_SCHEMAS = new Set(['items', 'anyOf', 'oneOf', 'allOf', 'additionalProperties', 'prefixItems'])

function readKeyword(name: string, value: unknown): unknown {
  if (OF_SCHEMAS.has(name)) return readSchema(value)
  if ((name !== 'properties' && name !== '$defs') || !isFields(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, readSchema(schema)]))
}
