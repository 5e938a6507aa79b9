/** Reads the body of a request: unpacked, never more than is allowed, and JSON. */
import type { IncomingMessage } from 'node:http'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import type { Duplex } from 'node:stream'
import type { ModelFailure } from './exchange.ts'
import { failureOf } from './formats/failures.ts'

export interface RequestBody {
  readonly bytes: Buffer
  readonly body: unknown
}

const UNPACK: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

export async function readRequestBody(
  request: IncomingMessage,
  most: number,
): Promise<RequestBody | { readonly failure: ModelFailure }> {
  const told = Number(request.headers['content-length'] ?? 0)
  if (told > most) return { failure: tooLarge(most) }
  const packed = request.headers['content-encoding'] ?? 'identity'
  const unpack = Object.hasOwn(UNPACK, packed) ? UNPACK[packed] : undefined
  if (unpack === undefined && packed !== 'identity')
    return {
      failure: failureOf(
        'bad-request',
        `The body is packed as ${packed}; send it as it is, or as ${Object.keys(UNPACK).join(', ')}.`,
      ),
    }
  const pieces: Buffer[] = []
  let length = 0
  try {
    // The limit is kept while it is unpacked: a small body may hold a huge one.
    for await (const piece of unpack === undefined ? request : request.pipe(unpack())) {
      length += (piece as Buffer).length
      if (length > most) return { failure: tooLarge(most) }
      pieces.push(piece as Buffer)
    }
  } catch (error) {
    return { failure: failureOf('bad-request', `The body cannot be read: ${(error as Error).message}.`) }
  }
  const bytes = Buffer.concat(pieces)
  try {
    return { bytes, body: JSON.parse(bytes.toString()) as unknown }
  } catch (error) {
    return { failure: failureOf('bad-request', `The body is no JSON: ${(error as Error).message}.`) }
  }
}

function tooLarge(most: number): ModelFailure {
  return failureOf('too-large', `The body is larger than ${most} bytes, which is the most that the gateway takes.`)
}
