// Nerve as the cells see it: the built package that the harness names, or the sources when there is none.
const entry = process.env['NERVE_BENCH_ENTRY'] ?? 'nerve'

export const { createHost, defineNode, workflow } = (await import(entry)) as typeof import('nerve')

/** Another door of the same package. */
export const door = (name: string): string => (entry === 'nerve' ? `nerve/${name}` : new URL(`${name}.js`, entry).href)
