/** The fields of a vendor's message that are texts, or numbers, where they are there. */
export type Texts<Name extends string> = Readonly<Partial<Record<Name, string>>>
export type Numbers<Name extends string> = Readonly<Partial<Record<Name, number>>>

/** The methods of a vendor's object that are called alike. */
export type Methods<Name extends string, Given extends readonly unknown[] = [], Result = unknown> = Readonly<
  Record<Name, (...given: Given) => Promise<Result>>
>
