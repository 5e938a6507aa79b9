/** The fields of a vendor's message that are texts, or numbers, where they are there. */
export type Texts<Name extends string> = Readonly<Partial<Record<Name, string>>>
export type Numbers<Name extends string> = Readonly<Partial<Record<Name, number>>>
