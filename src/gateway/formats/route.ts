/** Which format and operation an address means. Prefixes are free, so that clients may keep `/v1`, `/v1beta` or none. */
import type { WireFormat } from '../exchange.ts'

export type Route =
  | { readonly format: WireFormat; readonly operation: 'call' | 'stream' | 'count'; readonly model?: string }
  | { readonly format: WireFormat; readonly operation: 'models'; readonly model?: string }

const POSTS: readonly (readonly [RegExp, WireFormat, 'call' | 'count'])[] = [
  [/\/messages$/, 'anthropic', 'call'],
  [/\/messages\/count_tokens$/, 'anthropic', 'count'],
  [/\/chat\/completions$/, 'openai-chat', 'call'],
  [/\/responses$/, 'openai-responses', 'call'],
  [/\/responses\/input_tokens$/, 'openai-responses', 'count'],
]
const GEMINI = /\/models\/(.+):(generateContent|streamGenerateContent|countTokens)$/
const OPERATIONS = { generateContent: 'call', streamGenerateContent: 'stream', countTokens: 'count' } as const
const MODELS = /\/models(?:\/(.+))?$/

/**
 * The route of a request, or undefined for an address that is not a model's. Lists of models have one address in three
 * formats: the headers tell Anthropic's and Google's clients from the others.
 */
export function routeOf(
  method: string,
  target: string,
  headers: Readonly<Record<string, string | readonly string[] | undefined>> = {},
): Route | undefined {
  const path = decodePath(target.split(/[?#]/, 1)[0] ?? '')
    .replace(/\/{2,}/g, '/')
    .replace(/\/$/, '')
  if (method === 'POST') return postRoute(path)
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const match = MODELS.exec(path)
  if (match === null) return undefined
  return {
    format: listFormat(path, target, headers),
    operation: 'models',
    ...(match[1] === undefined ? {} : { model: match[1] }),
  }
}

function postRoute(path: string): Route | undefined {
  const gemini = GEMINI.exec(path)
  if (gemini?.[1] !== undefined) {
    return { format: 'gemini', operation: OPERATIONS[gemini[2] as keyof typeof OPERATIONS], model: gemini[1] }
  }
  const found = POSTS.find(([pattern]) => pattern.test(path))
  return found === undefined ? undefined : { format: found[1], operation: found[2] }
}

function listFormat(path: string, target: string, headers: Readonly<Record<string, unknown>>): WireFormat {
  if (headers['anthropic-version'] !== undefined) return 'anthropic'
  if (headers['x-goog-api-key'] !== undefined || /\/v1beta\/|\/v1alpha\//.test(path) || /[?&]key=/.test(target))
    return 'gemini'
  return 'openai-chat'
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
