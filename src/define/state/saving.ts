/** Keeping checkpoints elsewhere while a state graph runs. A saver that fails is reported, and never kept quiet. */
import type { Context, StepCall } from '../../engine/definition.ts'
import { executionOf } from '../../engine/run-node.ts'
import { caught, type Catching } from './caught.ts'
import { pendingOf, type Saver } from './checkpoint.ts'
import type { Plan } from './plan.ts'
import type { Position } from './position.ts'

export interface Saving {
  readonly saver: Saver
  /** What a saver that fails means for the run: it is reported and the run goes on, or the run fails. */
  readonly onSaverError: 'report' | 'fail'
}

export interface Moment {
  readonly plan: Plan
  readonly position: Position
  readonly nodes: readonly string[]
  readonly here: Catching<never>['here']
}

/** What is to be told about it, and the error if the run fails by it. */
export interface Saved {
  readonly name: 'checkpoint' | 'checkpoint-failed'
  readonly data: unknown
  readonly fails?: Error
}

export async function saveCheckpoint(
  ctx: Context,
  { saver, onSaverError }: Saving,
  { plan, position, nodes, here }: Moment,
): Promise<Saved> {
  const { step, state, active } = position
  const pending = pendingOf(plan, position)
  const { clock } = executionOf(ctx)
  const save = async ({ path }: StepCall): Promise<string> => {
    // In a graph inside another definition, several may have the same number.
    const id = `${path.slice(0, path.lastIndexOf('/') + 1)}${step}`
    await saver.save({
      id,
      run: ctx.runId,
      definition: plan.name,
      step,
      nodes,
      state,
      next: [...active.keys()],
      ...(pending === undefined ? {} : { pending }),
      time: clock.now(),
    })
    return id
  }
  const run = (): Promise<string> => here(() => ctx.step('checkpoint', save, { onError: 'fail' }))
  const saved = await caught(ctx, { label: 'checkpoint!', run, here })
  if ('value' in saved) return { name: 'checkpoint', data: { id: saved.value, step } }
  return {
    name: 'checkpoint-failed',
    data: { step, error: saved.error.message },
    ...(onSaverError === 'fail' ? { fails: saved.error } : {}),
  }
}
