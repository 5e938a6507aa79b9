/** Conversations as files. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { decodeValue, encodeValue } from '../../base/value.ts'
import type { Remembered } from './conversation.ts'

const FORMAT = 1

export interface SavedConversation extends Remembered {
  /** The id of the chat that it was saved from. */
  readonly chat: string
}

/** All of it or nothing: a reader never sees a half. Only its owner may read it. */
export async function writeConversation(file: string, saved: SavedConversation): Promise<void> {
  const { text = 'null' } = encodeValue({ format: FORMAT, ...saved }, 'the conversation')
  const draft = `${file}.${process.pid}.draft`
  await mkdir(dirname(file), { recursive: true })
  await writeFile(draft, `${text}\n`, { mode: 0o600 })
  await rename(draft, file)
}

export async function readConversation(file: string): Promise<SavedConversation> {
  let read: unknown
  try {
    read = decodeValue(await readFile(file, 'utf8'), true)
  } catch (cause) {
    throw new NerveError('bad-file', `The conversation in ${file} cannot be read: ${(cause as Error).message}`, {
      cause,
    })
  }
  const saved = read as (Partial<SavedConversation> & { readonly format?: unknown }) | null
  if (saved?.format !== FORMAT || !Array.isArray(saved.messages))
    throw new NerveError('bad-file', `${file} is not a conversation that chat.save wrote.`)
  const { chat = '', messages, tokens = 0, at = 0 } = saved
  return { chat, messages, tokens, at }
}
