/**
 * Everything a terminal printed, byte for byte, in a file. When the file has reached its limit it becomes `….1`, in the
 * place of the one before: the disk is bounded too. Written at once, so that nothing is missing after a crash.
 */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export class ByteLog {
  readonly file: string
  readonly #limit: number
  #descriptor: number
  #size: number
  #closed = false

  constructor(folder: string, id: string, limit: number) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.file = join(folder, `${encodeURIComponent(id)}.log`)
    this.#limit = limit
    this.#descriptor = openSync(this.file, 'a', 0o600)
    this.#size = fstatSync(this.#descriptor).size
  }

  write(bytes: Uint8Array): void {
    if (this.#closed) return
    if (this.#size > 0 && this.#size + bytes.length > this.#limit) this.#turn()
    for (let at = 0; at < bytes.length;) at += writeSync(this.#descriptor, bytes, at)
    this.#size += bytes.length
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    closeSync(this.#descriptor)
  }

  #turn(): void {
    closeSync(this.#descriptor)
    renameSync(this.file, `${this.file}.1`)
    this.#descriptor = openSync(this.file, 'a', 0o600)
    this.#size = 0
  }
}
