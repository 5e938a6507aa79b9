/** Which step of a script answers a request. A function of the script and the transcript, and of nothing else. */
import type { ModelRequest } from '../exchange.ts'
import type { Script, ScriptMatch, ScriptRule, ScriptStep } from './script.ts'
import { lastResult, userTurns, type UserTurn } from './transcript.ts'

export interface Planned {
  readonly step: ScriptStep
  /** Puts what a text refers to into it. */
  readonly fill: (text: string) => string
}

const ENDED: ScriptStep = { say: 'The script has ended.' }

export function planReply(script: Script, request: ModelRequest): Planned | undefined {
  const turns = userTurns(request)
  const last = lastResult(request)
  const newest = turns.find(({ alone }) => alone) ?? turns[0]
  for (const turn of turns.length > 0 ? turns : [NO_TURN])
    for (const rule of script.rules) {
      const groups = match(rule.when ?? {}, request, turn)
      if (groups === undefined) continue
      const step = rule.steps === undefined ? onlyStep(rule, turn) : (rule.steps[turn.replies] ?? ENDED)
      return { step, fill: filler(groups, { user: turn.text, last }) }
    }
  if (script.otherwise === undefined) return undefined
  return { step: script.otherwise, fill: filler([], { user: newest?.text ?? '', last }) }
}

const NO_TURN: UserTurn = { text: '', alone: true, replies: 0 }

/** A rule that is one step calls its tools once; after that it has nothing more to say. */
function onlyStep({ when: _when, steps: _steps, ...step }: ScriptRule, { replies }: UserTurn): ScriptStep {
  return replies === 0 || step.call === undefined ? step : ENDED
}

function match(when: ScriptMatch, request: ModelRequest, turn: UserTurn): readonly string[] | undefined {
  const { user, system, model, tool } = when
  if (user === undefined && !turn.alone) return undefined
  const groups = user === undefined ? [] : found(user, turn.text)
  if (groups === undefined) return undefined
  if (system !== undefined && found(system, request.system.join('\n')) === undefined) return undefined
  if (model !== undefined && found(model, request.model) === undefined) return undefined
  if (tool !== undefined && !request.tools.some(({ name }) => found(tool, name) !== undefined)) return undefined
  return groups
}

function found(pattern: string, text: string): readonly string[] | undefined {
  return new RegExp(pattern, 'i').exec(text)?.map((group) => group ?? '')
}

function filler(groups: readonly string[], words: Readonly<Record<string, string>>): (text: string) => string {
  return (text) =>
    text.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (all, name: string) => {
      if (/^\d+$/.test(name)) return groups[Number(name)] ?? ''
      return Object.hasOwn(words, name) ? (words[name] ?? '') : all
    })
}
