/** Types that say which nodes fit together, so that a control node around the wrong ones does not compile. */
import type { AnyRunnable, InputOf, OutputOf } from '../../engine/definition.ts'

export type Part = AnyRunnable | string
/** Parts that are told apart by name, or by their place in a list. */
export type Parts = Readonly<Record<string, Part>> | readonly Part[]

/** What a node can be given. One that takes nothing can be given anything. */
export type Takes<One> = [InputOf<One>] extends [undefined] ? unknown : InputOf<One>

/** What all of the parts can be given. */
export type TakenByAll<All> = Takers<All> extends (given: infer Input) => void ? Input : never
type Takers<All> = All extends readonly unknown[]
  ? { [Key in keyof All]: (given: Takes<All[Key]>) => void }[number]
  : { [Key in keyof All]: (given: Takes<All[Key]>) => void }[keyof All]

/** What the parts give, by their names or in their order. */
export type OutputsOf<All> = { -readonly [Key in keyof All]: OutputOf<All[Key]> }

/** What one of the parts gives. */
export type OneOutputOf<All> = All extends readonly (infer One)[] ? OutputOf<One> : OutputOf<All[keyof All]>

/** Added to the type of a part that takes what it is given: nothing. To another: something that it does not have. */
export type Fits<Given, One> = [Given] extends [Takes<One>] ? unknown : Unfit<'it cannot be given', Given>

/** The same for parts that are all given one input: there must be one that they all take. */
export type FitTogether<All> = [TakenByAll<All>] extends [never] ? Unfit<'they take different inputs', All> : unknown

interface Unfit<Why, What> {
  readonly unfit: Why
  readonly what: What
}
