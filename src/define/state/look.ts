/** Everything about a plan that can be known without running it: its outline, and what is wrong with it. Pure. */
import type { Names, Outline, OutlineEdge } from '../../engine/definition.ts'
import { isNode } from '../../engine/run-node.ts'
import { outlineOf } from '../outline.ts'
import type { Exit, Plan, PlanNode } from './plan.ts'
import { END, START } from './result.ts'

/** What a plan refers to that is not known, or is wrong in itself. */
export function checkPlan(plan: Plan, names: Names): readonly string[] {
  const problems: string[] = []
  for (const { id, work } of plan.nodes.values()) {
    if (work.type === 'parallel')
      for (const [name, branch] of Object.entries(work.branches))
        for (const problem of checkPlan(branch, names)) problems.push(`in branch '${name}' of '${id}': ${problem}`)
    if (work.type !== 'node') continue
    const { node } = work
    if (typeof node === 'string') {
      if (names.get(node) === undefined)
        problems.push(`node '${id}' refers to the node '${node}', which is not known here.`)
    } else if (!isNode(node)) {
      for (const problem of node.check?.(names) ?? []) problems.push(`in node '${id}': ${problem}`)
    }
  }
  return problems
}

export function outlinePlan(plan: Plan): Outline {
  const edges: OutlineEdge[] = []
  const parts: Outline[] = [{ id: START, kind: 'start' }]
  const drawing = { edges, parts, drawn: new Set<string>() }
  draw(drawing, START, plan.entry)
  for (const node of plan.nodes.values()) {
    parts.push(outlineNode(node))
    draw(drawing, node.id, node.exits)
    for (const to of node.to ?? []) edges.push({ from: node.id, to, label: 'goto' })
    if (node.handler !== undefined) edges.push({ from: node.id, to: node.handler, label: 'error' })
    if (node.exits.length === 0 && node.to === undefined) edges.push({ from: node.id, to: END })
  }
  parts.push({ id: END, kind: 'end' })
  return { id: plan.name, kind: 'state-graph', parts, edges }
}

interface Drawing {
  readonly edges: OutlineEdge[]
  readonly parts: Outline[]
  /** Decisions that have their place already. */
  readonly drawn: Set<string>
}

function draw(drawing: Drawing, from: string, exits: readonly Exit[], label?: string): void {
  const { edges } = drawing
  const arrow = (to: string): void => void edges.push({ from, to, ...(label === undefined ? {} : { label }) })
  for (const exit of exits) {
    switch (exit.type) {
      case 'to':
      case 'send':
        arrow(exit.node)
        break
      case 'join':
        edges.push({ from, to: exit.join.to, label: `and ${others(exit.join.from, exit.from)}` })
        break
      case 'route': {
        const { id, ways, shown } = exit.route
        if (shown) arrow(id)
        if (shown) drawChoice(drawing, id, ways)
        else for (const way of ways) draw(drawing, from, way.exits, way.label)
        break
      }
      case 'loop': {
        const { id, body, after } = exit.loop
        arrow(id)
        drawChoice(drawing, id, [
          { label: 'again', exits: body },
          { label: 'until', exits: after },
        ])
      }
    }
  }
}

function drawChoice(drawing: Drawing, id: string, ways: readonly { label: string; exits: readonly Exit[] }[]): void {
  if (drawing.drawn.has(id)) return
  drawing.drawn.add(id)
  drawing.parts.push({ id, kind: 'choice' })
  for (const { label, exits } of ways) draw(drawing, id, exits, label)
}

function others(from: readonly string[], one: string): string {
  return from.filter((id) => id !== one).join(', ')
}

function outlineNode({ id, work, takes }: PlanNode): Outline {
  switch (work.type) {
    case 'function':
      return { id, kind: 'function', ...(takes === 'item' ? { note: 'for each item' } : {}) }
    case 'wait':
      return { id, kind: 'question', ...(typeof work.prompt === 'string' ? { note: work.prompt } : {}) }
    case 'node': {
      const inside = outlineOf(work.node)
      return { ...inside, id, ...(inside.id === id ? {} : { note: inside.id }) }
    }
    case 'parallel':
      return {
        id,
        kind: 'parallel',
        note: work.mode,
        parts: Object.entries(work.branches).map(([name, branch]) => ({ ...outlinePlan(branch), id: name })),
      }
  }
}
