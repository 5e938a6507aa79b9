/**
 * `npm start -- agents`: three coding agents fix the same failing test at the same time, a reviewer picks, a person approves.
 *
 * The agents are those of vendors that are found on this machine; for the others the built-in agent stands in. Their model is
 * scripted (script.ts) and served on loopback, so this needs no key. What they do is real: commands, files, tests, git.
 *
 *     node --conditions=nerve-source examples/agents/main.ts [--json] [--scripted]
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, type RunEvent } from 'nerve'
import { agent, scriptedAgent, type AgentNode, type AgentNodeOptions } from 'nerve/agents'
import { createGateway, scripted } from 'nerve/gateway'
import { jsonSchema } from 'nerve/spec'
import { print, quiet, title, tone } from '../tour/print.ts'
import { typed } from '../tour/typed.ts'
import { ROOT, foundAgents, type Found } from './found.ts'
import { model, steps } from './script.ts'
import { team } from './team.ts'

const TASK = 'The test of this repository fails. Find the bug, fix it, and run the tests: node --test'
const WORKERS = 3
const options = new Set(process.argv.slice(2))
const asks = process.stdin.isTTY && process.stdout.isTTY && !options.has('--json')

const dir = mkdtempSync(join(tmpdir(), 'nerve-agents-'))
// Some agents refuse to keep their files in a folder for temporary ones.
mkdirSync(join(ROOT, 'coverage'), { recursive: true })
const homes = mkdtempSync(join(ROOT, 'coverage', 'agents-'))
const gateway = await createGateway({ backend: scripted(model) })
const opened: { stop(): Promise<void> }[] = []

function repository(): string {
  const folder = join(dir, 'shop')
  const git = (...args: string[]): unknown => execFileSync('git', ['-C', folder, ...args])
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'cart.mjs'),
    'export const total = (items) => items.reduce((sum, { price }) => sum + price, 0)\n',
  )
  writeFileSync(
    join(folder, 'cart.test.mjs'),
    "import { equal } from 'node:assert'\nimport { test } from 'node:test'\nimport { total } from './cart.mjs'\n" +
      "test('counts', () => equal(total([{ price: 2, count: 3 }, { price: 1, count: 1 }]), 7))\n",
  )
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'A demonstration')
  git('config', 'user.email', 'demonstration@example.com')
  git('add', '-A')
  git('commit', '-q', '-m', 'a shop with a bug')
  return folder
}

/** A copy of the repository, with the name that commits in it have. */
function copyOf(from: string, name: string): string {
  const folder = join(dir, name)
  execFileSync('git', ['clone', '-q', from, folder])
  for (const key of ['user.name', 'user.email']) {
    const value = execFileSync('git', ['-C', from, 'config', key], { encoding: 'utf8' }).trim()
    execFileSync('git', ['-C', folder, 'config', key, value])
  }
  return folder
}

type More<Value> = Pick<AgentNodeOptions<Value>, 'schema'>

/** An agent of a vendor on the scripted model, or the one that needs none. */
function made<Value = never>(
  id: string,
  cwd: string,
  found: Found | undefined,
  more: More<Value> = {},
): AgentNode<Value> {
  const home = join(homes, id)
  mkdirSync(home, { recursive: true })
  const use =
    found === undefined
      ? { use: scriptedAgent({ folder: join(dir, 'sessions'), script: steps }) }
      : {
          use: found.adapter,
          env: found.env(home),
          gateway,
          ...(found.model === undefined ? {} : { model: found.model }),
        }
  const node = agent<Value>(id, { ...use, ...more, cwd, permission: 'allow' })
  opened.push(node)
  return node
}

function show(event: RunEvent): void {
  const [, who, what] = /^workers\/([^/]+)\/(\w+)$/u.exec('path' in event ? (event.path ?? '') : '') ?? []
  if (event.type === 'step-completed' && who !== undefined) {
    const time = `${((event.time - event.started) / 1_000).toFixed(1)}s`
    print(`  ${tone('✓', 'green')} ${who.padEnd(14)} ${(what ?? '').padEnd(6)} ${tone(time, 'dim')}`)
  }
}

async function person(prompt: string, choices: readonly string[]): Promise<string> {
  print(`  ${tone('?', 'cyan')} ${prompt}`)
  if (!asks) {
    print(`  ${tone('→', 'green')} ${choices[0]} ${tone('(nobody is at a terminal: answered by itself)', 'dim')}`)
    return choices[0] ?? ''
  }
  for (;;) {
    const said = await typed(`    ${choices.map((one, at) => `${at + 1} ${one}`).join('  ')} > `)
    const chosen = choices.find((one, at) => said === one || said === String(at + 1))
    if (chosen !== undefined) return chosen
  }
}

async function demonstration(): Promise<void> {
  const began = Date.now()
  const vendors = options.has('--scripted') ? [] : (await foundAgents()).slice(0, WORKERS)
  const shop = repository()
  title('1', 'A repository with a failing test, and three agents')
  const workers = Array.from({ length: WORKERS }, (_, index) => {
    const found = vendors[index]
    const name = found?.name ?? `scripted-${index + 1}`
    print(
      `  ${name.padEnd(14)} ${tone(found === undefined ? 'the built-in agent' : `version ${found.version}`, 'dim')}`,
    )
    const folder = copyOf(shop, name)
    return { name, folder, agent: made(name, folder, found) }
  })
  if (vendors.length < WORKERS)
    print(tone(`  ${vendors.length} agents of vendors are found here; the built-in one stands in for the rest.`, 'dim'))
  const verdict = jsonSchema<{ pick: string; why: string }>({
    type: 'object',
    properties: { pick: { type: 'string' }, why: { type: 'string' } },
    required: ['pick', 'why'],
    additionalProperties: false,
  })
  const reviewer = made('reviewer', shop, vendors[0], { schema: verdict })
  const definition = team({ workers, reviewer, repository: shop })

  title('2', 'All three at the same time, on a scripted model')
  const host = await createHost({ dir, definitions: [definition] })
  try {
    host.subscribe({ live: false }, (event) => show(event as RunEvent))
    const run = await host.start(definition, TASK)
    while ((await run.rest()) === 'waiting') {
      const [question] = await host.inbox()
      if (question === undefined) break
      title('3', 'A person decides')
      await host.answer(question.id, await person(question.prompt, question.choices ?? []), { by: 'the demonstration' })
    }
    const output = await run.result()
    const seconds = (Date.now() - began) / 1_000
    title('4', 'What happened')
    for (const { name, passes, files, lines } of output.works)
      print(`  ${name.padEnd(14)} tests ${passes ? 'pass' : 'fail'}, ${lines} lines in ${files.join(', ')}`)
    print(`  picked: ${output.verdict?.pick}: ${output.verdict?.why}`)
    print(
      `  ${tone(`✓ ${output.answer}`, 'green')} in ${seconds.toFixed(1)}s; the tests of the repository ${output.passes ? 'pass' : 'were left as they are'}`,
    )
    if (options.has('--json'))
      console.log(
        JSON.stringify({ ...output, agents: workers.map(({ name }) => name), vendors: vendors.length, seconds }),
      )
    if (output.answer === 'merge' && !output.passes) throw new Error('the merged fix does not pass the tests')
  } finally {
    await Promise.all(opened.map((node) => node.stop()))
    await host.close()
  }
}

function leave(): void {
  for (const folder of [dir, homes]) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    leave()
    process.exit(130)
  })

if (options.has('--json')) quiet()
try {
  await demonstration()
} catch (error) {
  console.error(`The demonstration failed: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  await gateway.close()
  leave()
}
