/** Ralph as `nerve ralph` starts it: wired to an agent by name, to a test command, and to git. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ralph, type RalphInput, type RalphResult } from '../../define/library/index.ts'
import { workflow } from '../../define/workflow.ts'
import type { Definition, Node, StepCall } from '../../engine/definition.ts'
import { agent, type AgentInput, type AgentNode } from '../../nodes/agents/agent.ts'
import type { PermissionPolicy } from '../../nodes/agents/permission.ts'
import { bash, quote } from '../../nodes/bash.ts'
import type { Sandbox } from '../../nodes/sandbox.ts'
import { taskAgent } from './task-agent.ts'

export interface RalphCommandInput extends RalphInput {
  /** `scripted`, or the name of an agent. */
  readonly agent: string
  readonly model?: string
  /** The folder that is worked in. */
  readonly cwd: string
  /** The project folder. */
  readonly dir: string
  /** The command whose success is the evidence. */
  readonly test: string
  /** Nobody is asked before the agent uses a tool. */
  readonly allowAll?: boolean
  /** The agent, and the tests that run what it wrote, reach nothing but their folder and the network. */
  readonly sandboxed?: boolean
}

export const SCRIPTED = 'scripted'
const TEST_TIMEOUT = '15m'
/** Pushing and opening pull requests is Ralph's own step, when it was asked for. */
const NEVER = ['shell(git push*)', 'shell(git * push*)', 'shell(gh *)']

export const ralphCommand: Definition<RalphCommandInput, RalphResult> = workflow(
  'ralph',
  { description: 'Works on a task until its tests pass' },
  async (ctx, input: RalphCommandInput) => {
    const { cwd, test } = input
    const made = ralph<RalphCommandInput>({
      agent: oneTurnAtATime(coder(input)),
      test: bash('test', {
        command: test,
        cwd,
        check: false,
        effect: 'repeatable',
        timeout: TEST_TIMEOUT,
        sandbox: sandboxOf(input),
      }),
      pullRequest: bash('pull-request', {
        command: (about: RalphInput) => pullRequestScript(about.task, ctx.runId),
        cwd,
        inherit: ['GH_TOKEN', 'GITHUB_TOKEN', 'GH_HOST', 'SSH_AUTH_SOCK'],
      }),
    })
    return made.run(ctx, input)
  },
)

function coder(input: RalphCommandInput): AgentNode {
  const { agent: name, cwd, dir, model } = input
  return agent('coder', {
    use: name === SCRIPTED ? taskAgent(join(dir, '.nerve', 'scripted-agent')) : name,
    cwd,
    permission: permissionOf(input),
    sandbox: sandboxOf(input),
    ...(model === undefined ? {} : { model }),
  })
}

/** What is in `.git` is run by whoever commits, which is Ralph itself: nobody else writes there. */
function sandboxOf({ cwd, sandboxed = false }: RalphCommandInput): Sandbox {
  if (!sandboxed) return 'none'
  const readable = existsSync(join(cwd, '.git')) ? ['.git'] : []
  return { level: 'bwrap', writable: ['.'], readable, network: true }
}

function permissionOf({ cwd, test, allowAll = false }: RalphCommandInput): PermissionPolicy {
  return {
    allow: ['read', `edit(${join(cwd, '*')})`, `shell(${test})`],
    deny: NEVER,
    otherwise: allowAll ? 'allow' : 'ask',
  }
}

/** Every turn is a session of its own, so nothing is left running between two: a person may think for a week. */
function oneTurnAtATime(node: AgentNode): Node<AgentInput> {
  const { id, kind, policy } = node
  return {
    id,
    kind,
    persistent: false,
    ...(policy === undefined ? {} : { policy }),
    info: () => ({ ...node.info(), persistent: false }),
    async execute(input: AgentInput, call: StepCall) {
      try {
        return await node.execute(input, call)
      } finally {
        await node.stop()
      }
    },
  }
}

const MOST_TITLE = 70

function pullRequestScript(task: string, run: string): string {
  const line = task.trim().split('\n')[0] ?? ''
  const title = line.length > MOST_TITLE ? `${line.slice(0, MOST_TITLE - 1)}…` : line
  const words = line.toLowerCase().match(/[a-z0-9]+/gu) ?? []
  const branch = `ralph/${[...words.slice(0, 5), run.slice(-6)].join('-')}`
  const body = `${task}\n\nThe tests pass. Built in run ${run}.`
  return [
    'set -eu',
    `git checkout -q -b ${quote(branch)}`,
    'git add -A',
    `git commit -q -m ${quote(title)}`,
    `git push -q -u origin ${quote(branch)}`,
    `gh pr create --head ${quote(branch)} --title ${quote(title)} --body ${quote(body)}`,
  ].join('\n')
}
