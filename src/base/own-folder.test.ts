import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { isMadeHere, makeOwnFolder } from './own-folder.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nerve-own-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

it('is for its user alone, says where it was made, and leaves nothing beside it', () => {
  const folder = join(dir, 'deep', '.nerve')
  makeOwnFolder(folder)
  makeOwnFolder(folder)
  expect({ made: isMadeHere(folder), mode: statSync(folder).mode & 0o777 }).toEqual({ made: true, mode: 0o700 })
  expect(readdirSync(folder).toSorted()).toEqual(['.gitignore', 'here'])
  expect(readdirSync(join(dir, 'deep'))).toEqual(['.nerve'])
})

it('is not made again where one is', () => {
  const folder = join(dir, '.nerve')
  mkdirSync(folder)
  mkdirSync(join(folder, 'something'))
  makeOwnFolder(folder)
  expect({ made: isMadeHere(folder), ignored: existsSync(join(folder, '.gitignore')) }).toEqual({
    made: false,
    ignored: true,
  })
})

it('is whole as soon as it is there', async () => {
  const module = new URL('own-folder.ts', import.meta.url).href
  // Makes folders as soon as it is told to, while others look.
  const maker = `const { workerData, parentPort } = require('node:worker_threads')
import(${JSON.stringify(module)}).then(({ makeOwnFolder }) => {
  parentPort.postMessage('ready')
  parentPort.once('message', () => { for (const folder of workerData) makeOwnFolder(folder) })
})`
  const folders = Array.from({ length: 300 }, (_, at) => join(dir, `project-${at}`, '.nerve'))
  const makers = Array.from({ length: 2 }, () => new Worker(maker, { eval: true, workerData: folders }))
  await Promise.all(makers.map((one) => new Promise((resolve) => one.once('message', resolve))))
  const ended = Promise.all(makers.map((one) => new Promise((resolve) => one.once('exit', resolve))))
  for (const one of makers) one.postMessage('go')
  for (const folder of folders) {
    while (!existsSync(folder)) await new Promise(setImmediate)
    expect(isMadeHere(folder)).toBe(true)
  }
  await ended
})
