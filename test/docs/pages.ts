/** The pages of the documentation, and the fenced blocks in them. */
import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface Page {
  /** From the root of the repository, with slashes. */
  readonly path: string
  readonly text: string
}

/**
 * A fenced block. The first word after the fence is its language, the rest its info:
 *  - `ts`: a module of its own, compiled and run. `// => text` says what the block prints, line by line.
 *  - `ts file=NAME`: the same, kept under this name for the blocks that follow on the page.
 *  - `ts fragment-no-run REASON`: compiled, not run; also after `file=NAME`.
 *  - `sh runnable`: each line is run beside the page's files; `# exits N` says how (default 0).
 */
export interface Block {
  readonly page: Page
  readonly language: string
  readonly info: string
  readonly text: string
  readonly line: number
}

/** Every Markdown page: those of the root, and everything under docs. */
export function pages(): Page[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'))
  const deep = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
  return [...top, ...deep].toSorted().map(page)
}

export function page(path: string): Page {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') }
}

export function blocks(of: Page): Block[] {
  const found: Block[] = []
  let open: { readonly info: string; readonly line: number; readonly lines: string[] } | undefined
  for (const [index, line] of of.text.split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line)
    if (fence === null) open?.lines.push(line)
    else if (open === undefined) open = { info: fence[1] ?? '', line: index + 1, lines: [] }
    else {
      const [language = '', ...info] = open.info.split(' ')
      found.push({ page: of, language, info: info.join(' '), text: `${open.lines.join('\n')}\n`, line: open.line })
      open = undefined
    }
  }
  if (open !== undefined) throw new Error(`${of.path}:${open.line}: this fence is never closed`)
  return found
}

/** The text of a page without its fenced blocks. */
export function prose(of: Page): string {
  return of.text.replaceAll(/^```[^]*?^```$/gm, '')
}

/** The name a block is kept under in the folder of its page. */
export function fileName(block: Block): string {
  return /\bfile=(\S+)/.exec(block.info)?.[1] ?? `line-${block.line}.ts`
}

export function runs(block: Block): boolean {
  return !block.info.includes('fragment-no-run')
}

/** What a block says that it prints. */
export function expectedLines(block: Block): string[] {
  return [...block.text.matchAll(/\/\/ => (.*)$/gm)].map((found) => (found[1] ?? '').trimEnd())
}

export function folderName(of: Page): string {
  return basename(of.path, '.md').toLowerCase()
}
