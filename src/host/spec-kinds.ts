/** What files of specs are called. Here alone, so that nothing more is loaded to know it. */
export const SPEC_KINDS: readonly string[] = ['.yaml', '.yml', '.json']
