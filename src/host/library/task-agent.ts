/**
 * The agent for trying Ralph without a model: it does what the task says in backticks. First it runs the first command;
 * after the tests have failed, the last one.
 */
import type { AgentAdapter } from '../../nodes/agents/adapter.ts'
import { scriptedAgent, type ScriptedStep } from '../../nodes/agents/scripted-agent.ts'

export function taskAgent(folder: string): AgentAdapter {
  return scriptedAgent({ folder, script: ({ prompt }) => stepsFor(prompt) })
}

function stepsFor(prompt: string): readonly ScriptedStep[] {
  const [heading = ''] = /^# .*$/mu.exec(prompt) ?? []
  if (heading === '# Research') return [{ say: 'A scripted agent looks at nothing but the task.' }]
  if (heading === '# Spec') return [{ say: `It is done when the tests pass: ${taskIn(prompt)}` }]
  if (heading === '# Features') return [{ say: JSON.stringify([{ id: 'task', text: taskIn(prompt) }]) }]
  if (!heading.startsWith('# Implement')) return [{ say: 'The commands of the task did not make the tests pass.' }]
  const commands = [...taskIn(prompt).matchAll(/`([^`]+)`/gu)].map(([, command = '']) => command)
  const command = prompt.includes('## How the tests failed last') ? commands.at(-1) : commands[0]
  if (command === undefined) return [{ say: 'The task has no command in backticks: a scripted agent can do nothing.' }]
  return [{ shell: command }, { say: `I ran ${command}` }]
}

function taskIn(prompt: string): string {
  return /The task is:\n\n([^]*?)(?=\n\n(?:## |Do not|Build))/u.exec(prompt)?.[1] ?? ''
}
