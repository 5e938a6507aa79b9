/** The test kit. */
export { crash, crashFolder, readJournals, wasKilled, witnessAck, witnessEffect } from './crash-harness.ts'
export type { CrashOptions, CrashReport, Kill, SeenAck, SeenEffect, SeenRun } from './crash-harness.ts'
export { crashProblems } from './crash-invariants.ts'
export { SimulatedClock } from './simulated-clock.ts'
export { MemoryStore } from '../stores/memory-store.ts'
export { agentConformance } from './agent-conformance.ts'
export type { AgentCase, AgentUnderTest } from './agent-conformance.ts'
export { COUNT, REPLIES, promptedScript, scriptPrompt, stepsIn } from './prompted-script.ts'
