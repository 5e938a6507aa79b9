/** What a caller may do: look, answer what was asked, change what happens. Each includes the one before. */
export const SCOPES = ['read', 'answer', 'control'] as const
export type Scope = (typeof SCOPES)[number]
