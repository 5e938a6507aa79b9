/** Reference pages say everything that the code says, and nothing else. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, type TSInterfaceDeclaration, type TSSignature, type TSType } from 'oxc-parser'
import { describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../src/base/failpoint.ts'
import { contract } from '../../src/host/contract/contract.ts'
import { COMMANDS } from '../../src/surfaces/cli/command-table.ts'
import { ROOT, blocks, page, runs } from './pages.ts'

/** What other servers of this kind have. */
const OTHER_COMMANDS =
  'CREATE_NODE STOP_NODE LIST_NODES GET_NODE FORK_NODE EXECUTE_GRAPH CANCEL_GRAPH RUN_COMMAND EXECUTE_INPUT SEND_INTERRUPT WRITE_DATA GET_BUFFER GET_HISTORY SHUTDOWN PING START_WORKFLOW STOP_WORKFLOW PAUSE_WORKFLOW RESUME_WORKFLOW WORKFLOW_STATUS WORKFLOW_INPUT LIST_WORKFLOWS SUBSCRIBE_WORKFLOW'.split(
    ' ',
  )
const OTHER_EVENTS =
  'NODE_CREATED NODE_READY NODE_BUSY NODE_STOPPED GRAPH_STARTED STEP_STARTED STEP_COMPLETED STEP_FAILED GRAPH_COMPLETED OUTPUT_CHUNK OUTPUT_PARSED ERROR SERVER_SHUTDOWN LOOP_ITERATION BRANCH_TAKEN GATE_WAITING GATE_RESOLVED LOG STARTED COMPLETED FAILED PAUSED RESUMED CANCELLED MAP_ITEM_START MAP_ITEM_COMPLETE'.split(
    ' ',
  )

describe('docs/errors.md', () => {
  it('has a section for every error code, and for no other', () => {
    const source = readFileSync(join(ROOT, 'src/base/nerve-error.ts'), 'utf8')
    const union = /export type ErrorCode =([^]*?)\n\n/.exec(source)?.[1] ?? ''
    const codes = [...union.matchAll(/'([a-z-]+)'/g)].map((found) => found[1] ?? '')
    expect(codes.length).toBeGreaterThan(20)
    expect(
      sections('docs/errors.md')
        .map(({ title }) => title)
        .toSorted(),
    ).toEqual(codes.toSorted())
  })

  it('says for each what caused it and what to do', () => {
    const silent = sections('docs/errors.md').filter(({ text }) => !/Cause:/.test(text) || !/Do:/.test(text))
    expect(silent.map(({ title }) => title)).toEqual([])
  })
})

describe('docs/journal-format.md', () => {
  const events = eventTypes()
  const written = sections('docs/journal-format.md')

  it('has a section for every event type, and for no other', () => {
    expect(events.size).toBeGreaterThan(30)
    expect(written.map(({ title }) => title).toSorted()).toEqual([...events.keys()].toSorted())
  })

  for (const [type, fields] of events) {
    it(`names every field of ${type}, and no other`, () => {
      const text = written.find(({ title }) => title === type)?.text ?? ''
      const named = [...text.matchAll(/^- `([a-z]+)(\??)`/gim)].map((found) => `${found[1]}${found[2]}`)
      const common = /The common fields\s`path`,\s`after\?`/.test(text) ? ['path', 'after?'] : []
      expect([...common, ...named].toSorted()).toEqual(fields.toSorted())
    })
  }
})

describe('docs/guide/testing.md', () => {
  it('names every failpoint, and no other', () => {
    const named = [...page('docs/guide/testing.md').text.matchAll(/`([a-z]+-(?:before|half|after))`/g)]
    expect(new Set(named.map((found) => found[1]))).toEqual(new Set(FAILPOINTS))
  })
})

describe('docs/guide/server.md', () => {
  it('lists every name of the contract once, with its scope, and no other', () => {
    const [, table = ''] = /^## What can be asked\n([^]*?)\n\n[^|]/m.exec(page('docs/guide/server.md').text) ?? []
    const listed = [...table.matchAll(/^\| (`.*?) \| (read|answer|control) \|/gm)].flatMap(([, names = '', scope]) => {
      let of = ''
      return [...names.matchAll(/`([a-z.]+)`/g)].map(([, name = '']) => {
        // The first of a row says of what the others are.
        if (name.includes('.')) of = name.slice(0, name.indexOf('.') + 1)
        return `${name.includes('.') ? '' : of}${name} ${scope}`
      })
    })
    const known = Object.entries(contract).map(([name, { scope }]) => `${name} ${scope}`)
    expect(listed.toSorted()).toEqual(known.toSorted())
  })

  it('says what every command and event of tools before it is called here', () => {
    const { text } = page('docs/guide/server.md')
    const [, other = ''] = /^### By other names\n([^]*?)\n## /m.exec(text) ?? []
    const names = [...other.matchAll(/`((?:runs|nodes|sessions|questions|signals|definitions)\.[a-z]+)`/g)]
    expect(names.length).toBeGreaterThan(20)
    expect(names.map(([, name = '']) => name).filter((name) => !Object.hasOwn(contract, name))).toEqual([])
    const missing = [...OTHER_COMMANDS, ...OTHER_EVENTS].filter((name) => !other.includes(name))
    expect(missing).toEqual([])
  })
})

describe('the pages about models', () => {
  it.each(['models', 'tools', 'gateway', 'testing', 'testing-without-keys'])('%s has an example that runs', (name) => {
    const examples = blocks(page(`docs/guide/${name}.md`)).filter((block) => block.language === 'ts' && runs(block))
    expect(examples.length).toBeGreaterThan(0)
  })

  it('name everything that can be wanted of a run', () => {
    const { text } = page('docs/guide/testing-without-keys.md')
    const names = [
      ...members('src/testing/expect-run.ts', 'WantedRun'),
      ...members('src/testing/recorded.ts', 'RecordedOptions'),
    ]
    expect(names.filter((name) => !text.includes(`| \`${name}\` |`))).toEqual([])
  })
})

describe('the pages about ctx and the host', () => {
  it('name every primitive', () => {
    const { text } = page('docs/guide/workflows.md')
    const missing = members('src/engine/definition.ts', 'Context').filter((name) => !text.includes(`\`ctx.${name}`))
    expect(missing).toEqual([])
  })

  it('name every option of a step, and everything its function receives', () => {
    const { text } = page('docs/guide/steps-and-policies.md')
    const names = [
      ...members('src/engine/definition.ts', 'StepOptions'),
      ...members('src/engine/definition.ts', 'StepCall'),
    ]
    expect(names.filter((name) => !new RegExp(`\`${name}\\b`).test(text))).toEqual([])
  })

  it('name everything that a host and a handle can do', () => {
    const text = ['host.md', 'fork-and-replay.md', 'changing-code.md']
      .map((name) => page(`docs/guide/${name}`).text)
      .join()
    const names = [
      ...members('src/host/host.ts', 'HostOptions'),
      ...members('src/host/host.ts', 'Host'),
      ...members('src/host/handle.ts', 'Handle'),
    ]
    expect(names.filter((name) => !new RegExp(`[.\`]${name}\\b`).test(text))).toEqual([])
  })
})

describe('the commands', () => {
  it.each(['README.md', 'docs/guide/cli.md'])('are all in the blocks of %s', (path) => {
    const shown = blocks(page(path))
      .filter(({ language }) => language === 'sh')
      .map(({ text }) => text)
      .join('\n')
    const missing = COMMANDS.filter(({ name }) => !new RegExp(`(?:^|[^\\w-])${name}(?:[^\\w-]|$)`, 'm').test(shown))
    expect(missing.map(({ name }) => name)).toEqual([])
  })
})

/** The names of the members of an interface. */
function members(file: string, name: string): string[] {
  const { program } = parseSync(file, readFileSync(join(ROOT, file), 'utf8'))
  for (const statement of program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (node?.type === 'TSInterfaceDeclaration' && node.id.name === name) return node.body.body.flatMap(memberName)
  }
  throw new Error(`${file} has no interface ${name}`)
}

function memberName(signature: TSSignature): string[] {
  const named = signature.type === 'TSPropertySignature' || signature.type === 'TSMethodSignature'
  return named && signature.key.type === 'Identifier' ? [signature.key.name] : []
}

interface Section {
  readonly title: string
  readonly text: string
}

/** The third-level sections of a page whose titles are in code quotes. */
function sections(path: string): Section[] {
  return page(path)
    .text.split(/^### /m)
    .slice(1)
    .flatMap((part) => {
      const title = /^`([^`]+)`/.exec(part)?.[1]
      return title === undefined ? [] : [{ title, text: part.split(/^## /m)[0] ?? '' }]
    })
}

/** The event types of the union and their fields, `?` after those that may be missing. */
function eventTypes(): Map<string, string[]> {
  const source = readFileSync(join(ROOT, 'src/journal/events.ts'), 'utf8')
  const { program } = parseSync('events.ts', source)
  const interfaces = new Map<string, TSInterfaceDeclaration>()
  let union: TSType | undefined
  for (const statement of program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (node?.type === 'TSInterfaceDeclaration') interfaces.set(node.id.name, node)
    if (node?.type === 'TSTypeAliasDeclaration' && node.id.name === 'JournalEvent') union = node.typeAnnotation
  }
  const names = union?.type === 'TSUnionType' ? union.types.map(nameOf) : []
  return new Map(names.map((name) => [typeField(interfaces.get(name)), fieldsOf(name, interfaces)]))
}

function fieldsOf(name: string, interfaces: ReadonlyMap<string, TSInterfaceDeclaration>): string[] {
  const node = interfaces.get(name)
  if (node === undefined) throw new Error(`events.ts has no interface ${name}`)
  const above = node.extends.flatMap(({ expression }) =>
    expression.type === 'Identifier' ? fieldsOf(expression.name, interfaces) : [],
  )
  return [...above, ...node.body.body.map(fieldName).filter((field) => field !== 'type')]
}

function fieldName(signature: TSSignature): string {
  if (signature.type !== 'TSPropertySignature' || signature.key.type !== 'Identifier')
    throw new Error('an event has something else than a field')
  return `${signature.key.name}${signature.optional ? '?' : ''}`
}

function typeField(node: TSInterfaceDeclaration | undefined): string {
  for (const signature of node?.body.body ?? []) {
    if (signature.type !== 'TSPropertySignature' || fieldName(signature) !== 'type') continue
    const type = signature.typeAnnotation?.typeAnnotation
    if (type?.type === 'TSLiteralType' && type.literal.type === 'Literal') return String(type.literal.value)
  }
  throw new Error('an event has no literal type')
}

function nameOf(type: TSType): string {
  if (type.type === 'TSTypeReference' && type.typeName.type === 'Identifier') return type.typeName.name
  throw new Error('the union holds something else than names')
}
