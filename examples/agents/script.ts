/**
 * What is done in the demonstration, by what an agent is told. Real agents get it from a model on a gateway, the built-in agent
 * does it by itself: either way the commands are run for real.
 */
import type { ScriptedStep } from 'nerve/agents'
import type { ScriptFunction } from 'nerve/gateway'

type Act = { readonly shell: string } | { readonly say: string }

const write = (file: string, ...lines: readonly string[]): Act => ({
  shell: `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')} > ${file}`,
})

/** Three ways to fix it, by the number of the worker. */
const FIXES: readonly Act[] = [
  write(
    'cart.mjs',
    'export const total = (items) =>',
    '  items.reduce((sum, { price, count }) => sum + price * count, 0)',
  ),
  write(
    'cart.mjs',
    'export function total(items) {',
    '  let sum = 0',
    '  for (const item of items) {',
    '    sum += item.price * item.count',
    '  }',
    '  return sum',
    '}',
  ),
  write(
    'cart.mjs',
    'const cost = ({ price, count }) => price * count',
    '',
    'export function total(items) {',
    '  return items.map(cost).reduce((sum, one) => sum + one, 0)',
    '}',
  ),
]

function actsFor(prompt: string): readonly Act[] {
  const worker = /worker number (\d)/u.exec(prompt)?.[1]
  if (worker !== undefined) {
    const fix = FIXES[Number(worker) - 1] ?? { say: 'I do not know.' }
    return [{ shell: 'cat cart.mjs cart.test.mjs' }, fix, { shell: 'node --test' }, { say: 'The test passes now.' }]
  }
  return [{ say: JSON.stringify(pick(prompt)) }]
}

/** Of those whose tests pass and who left the tests alone, the one with the fewest changed lines. */
function pick(prompt: string): { readonly pick: string; readonly why: string } {
  const works = [...prompt.matchAll(/^## (\S+)\ntests: (\w+)\nfiles: (.*)\nlines: (\d+)/gmu)]
    .map(([, name = '', tests, files = '', lines]) => ({ name, tests, files, lines: Number(lines) }))
    .filter(({ tests, files }) => tests === 'pass' && !files.includes('test'))
    .toSorted((a, b) => a.lines - b.lines)
  const best = works[0]
  if (best === undefined) return { pick: 'none', why: 'none of them fixes the bug' }
  return { pick: best.name, why: `its tests pass, it leaves them alone, and it changes ${best.lines} lines` }
}

/** For the model. */
export const model: ScriptFunction = ({ tools }, { user, step }) => {
  // Agents ask for titles on the side.
  if (tools.length === 0) return { say: 'A demonstration' }
  const act = actsFor(user)[step]
  if (act === undefined) return { say: 'That is all.' }
  return 'say' in act ? act : { call: { sh: act.shell } }
}

/** For the agent without a model. */
export const steps = ({ prompt }: { readonly prompt: string }): readonly ScriptedStep[] => actsFor(prompt)
