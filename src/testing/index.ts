/** The test kit. */
export { SimulatedClock } from './simulated-clock.ts'
export { MemoryStore } from '../stores/memory-store.ts'
