/** Files in messages: data addresses and types. */
import type { Picture } from '../exchange.ts'
import { refuse } from './fields.ts'

const DATA = /^data:([^;,]*)((?:;[^;,]*)*?)(;base64)?,(.*)$/s

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
}

/** A `data:` address becomes the bytes that it holds, any other stays where it is. */
export function pictureAt(url: string, field: string, fallback = 'image/*'): Picture {
  if (!url.startsWith('data:')) return { type: 'file', mediaType: fallback, url }
  const match = DATA.exec(url)
  if (match === null) return refuse(field, 'is not a data address')
  const [, mediaType = '', , base64, content = ''] = match
  const data = base64 === undefined ? encoded(content, field) : content
  return { type: 'file', mediaType: mediaType === '' ? 'text/plain' : mediaType, data }
}

/** Data that is no base64 is text with escapes. */
function encoded(content: string, field: string): string {
  try {
    return Buffer.from(decodeURIComponent(content)).toString('base64')
  } catch {
    return refuse(field, 'has an escape that is none')
  }
}

export function addressOf(picture: Picture): string {
  return picture.data === undefined ? (picture.url ?? '') : `data:${picture.mediaType};base64,${picture.data}`
}

export function isImage(picture: Picture): boolean {
  return picture.mediaType.startsWith('image/')
}

/** The type of a file that is only known by its address, where a format must be told one. */
export function exactType(picture: Picture): string {
  if (!picture.mediaType.endsWith('/*')) return picture.mediaType
  const extension = /\.(\w+)(?:[?#].*)?$/.exec(picture.url ?? '')?.[1]?.toLowerCase()
  return (extension === undefined ? undefined : TYPES[extension]) ?? 'image/jpeg'
}
