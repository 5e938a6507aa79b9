/** `nerve init`, and that what it says to do next works as it says. */
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAgents } from 'nerve/agents'
import { afterEach, expect, test } from 'vitest'
import { jsonLines, project, type Project } from './nerve.ts'

let here: Project
afterEach(() => here.remove())

/** A folder with nothing in it. */
function empty(): Project {
  here = project()
  rmSync(join(here.dir, 'package.json'))
  return here
}

test('in an empty folder: everything that it says to do next can be done', async () => {
  const { nerve, dir, read } = empty()
  const { code, out, err } = await nerve(['init'])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const next = [...out.matchAll(/^ {2}nerve (.*)$/gm)].map(([, words = '']) => words.split(' '))
  expect(next.map(([command]) => command)).toEqual(['run', 'run', 'node', 'workflow'])
  const [hello = [], ...others] = next
  // Nobody is there to answer, so it waits.
  const waits = await nerve(hello)
  expect(waits).toMatchObject({ code: 3, err: '' })
  expect(waits.out).toContain('? Say "Hello Ada"?')
  const answered = await nerve(['answer', 'last', 'yes', '--json'])
  expect(jsonLines(answered.out).at(-1)).toMatchObject({ status: 'completed', output: 'Hello Ada' })
  for (const words of others) expect(await nerve(words)).toMatchObject({ code: 0, err: '' })
  for (const file of ['workflows/hello.ts', 'workflows/check.yaml'])
    expect(await nerve(['validate', file])).toMatchObject({ code: 0 })
  expect(await nerve(['replay', hello[1] === 'workflows/hello.ts' ? 'last' : ''])).toMatchObject({ code: 0 })

  // What editors look for is where the files say.
  for (const file of ['workflows/check.yaml', 'agents/reviewer.yaml']) {
    const schema = /\$schema=(\S+)/.exec(read(file))?.[1] ?? ''
    const there = JSON.parse(readFileSync(join(dir, file, '..', schema), 'utf8'))
    expect(there).toMatchObject({ $schema: expect.any(String), type: 'object' })
  }
  expect((await loadAgents(join(dir, 'agents'))).names).toEqual(['reviewer'])
  expect(read('.nerve/.gitignore')).toBe('*\n')
  expect(statSync(join(dir, '.nerve')).mode & 0o777).toBe(0o700)
})

test('who called it by npx is told to go on so', async () => {
  const { nerve } = empty()
  expect((await nerve(['init'])).out).toMatch(/^ {2}nerve workflow list$/m)
  const env = { npm_command: 'exec' }
  expect((await nerve(['init'], { env })).out).toMatch(/^ {2}npx nerve workflow list$/m)
  expect((await nerve(['run', 'workflows/hello.ts'], { env })).out).toMatch(/^ {2}npx nerve answer \S+ yes$/m)
})

test('called again it adds what is missing, and nothing is written over', async () => {
  const { nerve, dir, read, write } = empty()
  await nerve(['init'])
  write('AGENTS.md', 'mine')
  rmSync(join(dir, 'workflows/hello.ts'))
  const { out } = await nerve(['init', '--json'])
  expect(JSON.parse(out)).toEqual({
    dir,
    created: ['workflows/hello.ts'],
    kept: ['nerve.config.ts', 'workflows/check.yaml', 'agents/reviewer.yaml', 'AGENTS.md'],
    next: expect.arrayContaining(['nerve run workflows/hello.ts --input Ada']),
  })
  expect(read('AGENTS.md')).toBe('mine')
  expect((await nerve(['init'])).out).toMatch(/= AGENTS\.md {2}was there, and is as it was\n {2}For agents, add/)
})

test('in a package that has no modules, the files are called what Node takes for modules', async () => {
  const { nerve, write, read } = empty()
  write('package.json', '{"name":"old","type":"commonjs"}')
  const { created } = JSON.parse((await nerve(['init', '--json'])).out)
  expect(created).toEqual(expect.arrayContaining(['nerve.config.mts', 'workflows/hello.mts']))
  expect(read('package.json')).toBe('{"name":"old","type":"commonjs"}')
  expect(await nerve(['run', 'workflows/hello.mts', '--yes'])).toMatchObject({ code: 0, err: '' })
  expect(await nerve(['node', 'execute', 'greet'])).toMatchObject({ code: 0, out: 'hello\n' })
})

test('what was run here before keeps nothing from being trusted; code that was here does, and that is said', async () => {
  const { nerve, write, dir } = empty()
  write('package.json', '{"type":"module"}')
  write('one.ts', `import { workflow } from 'nerve'\nexport default workflow('one', async () => 1)\n`)
  await nerve(['run', 'one.ts'])
  const { next } = JSON.parse((await nerve(['init', '--json'])).out)
  expect(next[0]).toContain('nerve run')
  expect(await nerve(['run', 'workflows/hello.ts', '--yes'])).toMatchObject({ code: 0, err: '' })
  mkdirSync(join(dir, 'other', 'workflows'), { recursive: true })
  expect(JSON.parse((await nerve(['init', 'other', '--json'])).out).next[0]).toBe('nerve trust')
})

test('a project file that is there is kept, is not trusted, and gets no example that needs another one', async () => {
  const { nerve, write, read } = empty()
  write('nerve.config.ts', 'export default { nodes: [] }')
  const made = JSON.parse((await nerve(['init', '--json'])).out)
  expect(made.kept).toEqual(['nerve.config.ts'])
  expect(made.created).not.toContain('workflows/check.yaml')
  expect(read('nerve.config.ts')).toBe('export default { nodes: [] }')
  expect(JSON.parse((await nerve(['trust', '--list', '--json'])).out)).toEqual([])
})

test('a new folder is made, inside of another project too; what cannot be written is told', async () => {
  const { nerve, dir } = empty()
  const { code, out } = await nerve(['init', 'deep/er'])
  expect(code).toBe(0)
  expect(out).toContain('  cd deep/er\n')
  expect(readdirSync(join(dir, 'deep', 'er'))).toContain('nerve.config.ts')
  writeFileSync(join(dir, 'file'), '')
  const failed = await nerve(['init', 'file', '--json'])
  expect(failed.code).toBe(2)
  expect(JSON.parse(failed.err)).toMatchObject({ error: { code: 'bad-file' } })
})

test('a file where a folder should be is told of, and not taken for what would be in it', async () => {
  const { nerve, write } = empty()
  write('workflows', '')
  const { code, err } = await nerve(['init'])
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/workflows\/hello\.m?ts could not be written/) })
})
