/**
 * What Claude has spent. It tells the sums of a session, which go on when that is resumed or copied: what is spent now is what was
 * added. They have all of it, also what its own agents and a compaction took.
 */
import type { Numbers } from './fields.ts'

type Model = Numbers<
  'inputTokens' | 'outputTokens' | 'cacheReadInputTokens' | 'cacheCreationInputTokens' | 'contextWindow'
>

export type Models = Readonly<Record<string, Model>>

export type Tokens = Numbers<
  'input_tokens' | 'output_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens'
>

type Sums = Readonly<Record<'input' | 'output' | 'usd', number>>

const NOTHING: Sums = { input: 0, output: 0, usd: 0 }

/** It is called so until it is what it will be. */
const ASK = 'usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET'

export interface TellsUsage {
  readonly [ASK]?: (options: { readonly skipBehaviors: boolean }) => Promise<{
    readonly session?: { readonly total_cost_usd?: number; readonly model_usage?: Models }
  }>
}

export class ClaudeSpending {
  /** The last sums; undefined when nobody knows them. */
  #before: Sums | undefined = NOTHING

  /** A process that goes on with a session says first what that has spent before. Settles when it is there. */
  async goOn(process: TellsUsage): Promise<void> {
    this.#before = undefined
    const session = await process[ASK]?.({ skipBehaviors: true }).then(
      (told) => told.session,
      () => undefined,
    )
    const { total_cost_usd: usd, model_usage: models } = session ?? {}
    if (usd !== undefined && models !== undefined) this.#before ??= sumsOf(usd, models)
  }

  /** What was added. Where it is not known to what, it is what the turn itself took. */
  added(usd: number, models: Models, turn: Pick<Sums, 'input' | 'output'>): Sums {
    const now = sumsOf(usd, models)
    const all = now.input + now.output
    // One that failed at once tells of nothing, and forgets nothing.
    if (all === 0) return { ...turn, usd: 0 }
    const before = this.#before
    this.#before = now
    if (before === undefined) return { ...turn, usd: now.usd * Math.min(1, (turn.input + turn.output) / all) }
    // Clearing a session begins its sums anew.
    const from = all < before.input + before.output ? NOTHING : before
    return {
      input: Math.max(0, now.input - from.input),
      output: Math.max(0, now.output - from.output),
      usd: Math.max(0, now.usd - from.usd),
    }
  }
}

function sumsOf(usd: number, models: Models): Sums {
  let [input, output] = [0, 0]
  for (const one of Object.values(models)) {
    input += (one.inputTokens ?? 0) + (one.cacheReadInputTokens ?? 0) + (one.cacheCreationInputTokens ?? 0)
    output += one.outputTokens ?? 0
  }
  return { input, output, usd }
}

/** What a call had in its context window, and left there. */
export function tokensIn(tokens: Tokens): number {
  const { input_tokens: a = 0, output_tokens: b = 0, cache_read_input_tokens: c = 0 } = tokens
  return a + b + c + (tokens.cache_creation_input_tokens ?? 0)
}

/** How much fits into a context window: that of the largest model, because an agent's agents may have smaller ones. */
export function sizeIn(models: Models): number {
  return Math.max(0, ...Object.values(models).map(({ contextWindow = 0 }) => contextWindow))
}
