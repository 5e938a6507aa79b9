/** The fields of a vendor's message that are texts, where they are there. */
export type Texts<Name extends string> = Readonly<Partial<Record<Name, string>>>
