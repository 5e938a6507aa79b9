/** What the documentation points to is there: links, headings, files, and the commands of package.json. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, pages, prose, type Page } from './pages.ts'

const documents = pages()

describe('the documentation', () => {
  it('has links that lead somewhere', () => {
    expect(documents.flatMap(brokenLinks)).toEqual([])
  })

  it('names only files and folders that exist', () => {
    expect(documents.flatMap(missingFiles)).toEqual([])
  })

  it('names only scripts that package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }
    const wrong = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/npm run ([a-z-]+)/g)]
        .map(([, name]) => name ?? '')
        .filter((name) => !(name in scripts))
        .map((name) => `${path}: npm run ${name}`),
    )
    expect(wrong).toEqual([])
  })

  it('can be reached from the README', () => {
    const reached = new Set(['README.md'])
    for (const path of reached) {
      const found = documents.find((one) => one.path === path)
      for (const target of found === undefined ? [] : targets(found)) if (target.endsWith('.md')) reached.add(target)
    }
    const lost = documents.map(({ path }) => path).filter((path) => !reached.has(path))
    expect(lost).toEqual([])
  })
})

function links({ text }: Page): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((found) => found[1] ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))
}

/** Where the links of a page lead, from the root and without the heading. */
function targets(page: Page): string[] {
  return links(page)
    .map((link) => link.split('#')[0] ?? '')
    .filter((file) => file !== '')
    .map((file) => posix.normalize(posix.join(dirname(page.path), file)))
}

function brokenLinks(page: Page): string[] {
  return links(page)
    .filter((link) => {
      const [file = '', heading] = link.split('#')
      const target = file === '' ? page.path : posix.normalize(posix.join(dirname(page.path), file))
      if (!existsSync(join(ROOT, target))) return true
      return heading !== undefined && !headings(target).includes(heading)
    })
    .map((link) => `${page.path}: ${link}`)
}

function headings(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Names in code quotes that look like files of this repository. A `*` stands for any name. */
function missingFiles(page: Page): string[] {
  const known =
    /^(src|test|docs|examples|bench|scripts)\/[\w./*-]+$|^[A-Z][A-Z]+\.md$|^(engine|journal|stores|base|host|define|projections|testing)\/[\w*-]+\.ts$/
  return [...prose(page).matchAll(/`([^`\n]+)`/g)]
    .map((found) => found[1] ?? '')
    .filter((name) => known.test(name) && !name.includes('NNNN') && !name.startsWith('bench/results'))
    .filter((name) => !isThere(name) && !isThere(`src/${name}`))
    .map((name) => `${page.path}: ${name}`)
}

function isThere(name: string): boolean {
  const fixed = name.includes('*') ? dirname(name.slice(0, name.indexOf('*') + 1)) : name
  const path = join(ROOT, fixed)
  return existsSync(path) && (!name.endsWith('/') || statSync(path).isDirectory())
}
