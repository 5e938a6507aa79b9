/**
 * A step that waits for a person without being held: its call ends, its question stays, and the answer calls it again. The
 * process may end meanwhile, and the run need not be in memory.
 */
import { milliseconds } from '../base/duration.ts'
import { NerveError } from '../base/nerve-error.ts'
import { checkValue } from '../base/value.ts'
import type { ParkOptions } from './definition.ts'
import { checkAsk } from './waits.ts'

/** Thrown through the function that waits. */
export class Parked extends Error {
  override readonly name = 'Parked'
  readonly prompt: string
  readonly options: ParkOptions

  constructor(prompt: string, options: ParkOptions = {}) {
    checkAsk(prompt, options)
    const { deadline, onDeadline, detail, keep } = options
    // Here, where it is an error of the function: the call ends and its question is put in one commit, or neither.
    if (deadline !== undefined) milliseconds(deadline, 'deadline')
    checkValue(detail, `the detail of '${prompt}'`)
    checkValue(keep, `what is kept with '${prompt}'`)
    // What the step would fail with is not known before it is called again.
    if (deadline !== undefined && (onDeadline === undefined || (onDeadline as unknown) === 'fail'))
      throw new NerveError(
        'bad-option',
        `The question '${prompt}' of a parked step needs onDeadline: a default, or 'cancel'.`,
      )
    super(`The step waits for an answer to '${prompt}'.`)
    this.prompt = prompt
    this.options = options
  }
}
