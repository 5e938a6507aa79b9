/** The test kit. */
export { crash, crashFolder, readJournals, wasKilled, witnessAck, witnessEffect } from './crash-harness.ts'
export type {
  CrashOptions,
  CrashReport,
  Kill,
  SeenAck,
  SeenEffect,
  SeenRun,
  WorkerEnd,
  WorkerEnvironment,
} from './crash-harness.ts'
export { crashProblems } from './crash-invariants.ts'
export { SimulatedClock } from './simulated-clock.ts'
export { MemoryStore } from '../stores/memory-store.ts'
export { agentConformance } from './agent-conformance.ts'
export type { AgentUnderTest } from './agent-bench.ts'
export type { AgentCase } from './agent-conformance.ts'
export { COUNT, REPLIES, promptedScript, scriptPrompt, stepsIn } from './prompted-script.ts'
export { scriptedModel, type ScriptedModel } from './scripted-model.ts'
export { scriptedAgent } from '../nodes/agents/scripted-agent.ts'
export type { ScriptedAgentOptions, ScriptedStep, ScriptedTurn } from '../nodes/agents/scripted-agent.ts'
export { recorded, type RecordedOptions } from './recorded.ts'
export { expectRun, type WantedRun } from './expect-run.ts'
export { runFacts, type QuestionFact, type RunFacts, type StepFact } from './run-facts.ts'
