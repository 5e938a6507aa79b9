/** Every TypeScript block of the documentation is compiled and run; every shell block marked `runnable` is run. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { built, compileCache } from '../built.ts'
import { ROOT, blocks, expectedLines, fileName, folderName, pages, runs, type Block } from './pages.ts'

const run = promisify(execFile)
const SOURCE = '--conditions=nerve-source'
const RUNNER = fileURLToPath(new URL('run-page.ts', import.meta.url))
// A slow machine compiles for long. Nothing here is about time.
const PATIENCE_MS = 100_000
vi.setConfig({ testTimeout: PATIENCE_MS + 10_000 })

// Ignored by git and by every check, and not below node_modules, where Node strips no types.
const WORK = join(ROOT, 'coverage', `docs-${process.pid}`)

/** Pages make folders, and leave them to the system. */
const TEMPORARY = join(WORK, 'tmp')

const documents = pages().map((page) => ({ page, folder: join(WORK, folderName(page)), blocks: blocks(page) }))
const code = documents.flatMap(({ folder, blocks: all }) =>
  all.filter(({ language }) => language === 'ts').map((block) => ({ block, file: join(folder, fileName(block)) })),
)

beforeAll(() => {
  for (const { folder } of documents) mkdirSync(folder, { recursive: true })
  for (const { block, file } of code) writeFileSync(file, block.text)
  mkdirSync(TEMPORARY)
  const bin = join(WORK, 'bin')
  mkdirSync(bin)
  writeFileSync(
    join(bin, 'nerve'),
    `#!/bin/sh\nexec '${process.execPath}' '${built('dist', 'surfaces', 'cli', 'main.js')}' "$@"\n`,
  )
  chmodSync(join(bin, 'nerve'), 0o755)
})

afterAll(() => rmSync(WORK, { recursive: true, force: true }))

describe('the code in the documentation', () => {
  it('says why, where a block is not run', () => {
    const silent = code.filter(({ block }) => !runs(block) && !/fragment-no-run .{10}/.test(block.info))
    expect(silent.map(({ block }) => where(block))).toEqual([])
  })

  it('compiles', async () => {
    const config = {
      extends: relative(WORK, join(ROOT, 'tsconfig.json')),
      compilerOptions: { rootDir: ROOT, typeRoots: [join(ROOT, 'node_modules/@types')] },
      files: code.map(({ file }) => file),
      include: [],
    }
    writeFileSync(join(WORK, 'tsconfig.json'), JSON.stringify(config))
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout } = await tolerant(
      process.execPath,
      [compiler, '--checkers', '1', '-p', join(WORK, 'tsconfig.json')],
      ROOT,
    )
    expect(stdout.trim()).toBe('')
  })

  describe.concurrent('runs and prints what it says', () => {
    for (const { page, folder } of documents) {
      const own = code.filter(({ block }) => block.page === page && runs(block))
      if (own.length === 0) continue
      it(`${page.path}`, async ({ expect: expectHere }) => {
        const files = own.map(({ file }) => file)
        const done = await tolerant(process.execPath, [SOURCE, RUNNER, ...files], folder)
        expectHere(done.stderr).toBe('')
        const printed = JSON.parse(done.stdout) as Record<string, string[]>
        for (const { block, file } of own) {
          expectHere({ at: where(block), prints: printed[file] }).toEqual({
            at: where(block),
            prints: expectedLines(block),
          })
        }
      })
    }
  })

  describe.concurrent('runs on the command line', () => {
    for (const { page, folder, blocks: all } of documents) {
      const commands = all.filter(({ language, info }) => language === 'sh' && info.startsWith('runnable'))
      if (commands.length === 0) continue
      it(`${page.path}`, async ({ expect: expectHere }) => {
        for (const block of commands) {
          for (const line of block.text.split('\n').filter((text) => text.trim() !== '' && !text.startsWith('#'))) {
            const wanted = Number(/# exits (\d)/.exec(line)?.[1] ?? 0)
            const done = await shell(line, folder)
            const note = done.code === wanted ? '' : done.stderr + done.stdout
            expectHere({ at: where(block), line, code: done.code, note }).toEqual({
              at: where(block),
              line,
              code: wanted,
              note: '',
            })
          }
        }
      })
    }
  })
})

function where(block: Block): string {
  return `${block.page.path}:${block.line}`
}

/** Runs one line of a shell block, in the project of its page. */
function shell(line: string, folder: string): Promise<Done> {
  mkdirSync(join(folder, '.nerve'), { recursive: true })
  const path = `${join(WORK, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`
  return tolerant('/bin/sh', ['-c', line], folder, { PATH: path, XDG_STATE_HOME: join(folder, '.state') })
}

interface Done {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function tolerant(command: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<Done> {
  try {
    const { stdout, stderr } = await run(command, args, {
      cwd,
      env: { ...process.env, ...compileCache(), TMPDIR: TEMPORARY, ...env },
      timeout: PATIENCE_MS,
    })
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: number; stdout: string; stderr: string }
    return { code: code ?? -1, stdout, stderr }
  }
}
