// Nerve as the cells see it: the built package that the harness names, or the sources when there is none.
const entry = process.env['NERVE_BENCH_ENTRY'] ?? 'nerve'

export const { createHost, workflow } = (await import(entry)) as typeof import('nerve')
