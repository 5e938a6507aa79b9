/** The door to graphs. */
export { graph } from './define/graph.ts'
export type { AddStepOptions, Graph, GraphOptions, GraphStepOptions } from './define/graph.ts'
export type { GraphStep, StepFacts } from './define/graph-steps.ts'
export type { StepEvent } from './define/graph-stream.ts'
export { withSteps } from './define/expansion.ts'
export type { StepData } from './define/expansion.ts'
