/** What runs, models and callers say is shown, and cannot change the terminal that shows it. */
import { afterEach, expect, test } from 'vitest'
import { HAS_TERMINAL, project, type Project } from './nerve.ts'

let here: Project
afterEach(() => here.remove())

const HOSTILE = String.raw`\u001b[2J\u001b]0;owned\u0007`
const FLOW = `import { workflow } from 'nerve'
export default workflow('flow${HOSTILE}', async (ctx) => {
  await ctx.step('step${HOSTILE}', () => 1)
  ctx.emit('note${HOSTILE}', '${HOSTILE}')
  await ctx.ask('ask${HOSTILE}\\n${'✅'.repeat(60)}', { choices: ['yes${HOSTILE}', 'no'] })
  await ctx.waitFor('signal${HOSTILE}')
  return '${HOSTILE}'
})
`
// oxlint-disable-next-line no-control-regex -- finding them is the point
const ESCAPES = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/

test('names, prompts, signals, reasons and results are shown without what would change the terminal', async () => {
  const { nerve } = (here = project({ 'flow.ts': FLOW }))
  const evil = JSON.parse(`"${HOSTILE}"`) as string
  const calls = [
    ['run', 'flow.ts'],
    ['inbox'],
    ['answer', 'last', '1'],
    ['ps'],
    ['signal', 'last', `other${evil}`, evil],
    ['signal', 'last', `signal${evil}`],
    ['show', 'last'],
    ['events', 'last'],
    ['audit'],
    ['workflow', 'list'],
    ['explain', 'flow.ts'],
    ['show', evil],
    [evil],
    ['help', evil],
  ]
  for (const call of calls) {
    const { out, err } = await nerve(call)
    expect({ call: call[0], found: ESCAPES.exec(out + err)?.index }).toEqual({ call: call[0], found: undefined })
    expect(out + err).not.toBe('')
    // A label that nobody can type is chosen by its number.
    if (call[0] === 'inbox') expect(out).toMatch(/nerve answer \S+ 1\n/)
  }
})

test.skipIf(!HAS_TERMINAL)('in the live view neither, and wide signs do not tear it', async () => {
  const { terminal } = (here = project({ 'flow.ts': FLOW }))
  const running = terminal(['run', 'flow.ts'], [['2 no', '\u0003']], { size: [40, 20], env: { NO_COLOR: '1' } })
  const { out } = await running.ended
  expect(out).not.toContain('\u001B[2J')
  expect(out).not.toContain('\u001B]0;')
  const frames = out.slice(0, out.lastIndexOf('\u001B[?2026l'))
  const lines = frames.split('\n').filter((line) => line.includes('✅'))
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) expect(line.split('✅').length - 1).toBeLessThan(20)
})
