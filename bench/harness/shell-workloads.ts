// Shells and terminals against what they are made of. Pure data, a part of the matrix.
import type { Workload } from './matrix.ts'

export const SHELLS: readonly Workload[] = [
  {
    id: 'W16',
    title: 'n MB of lines printed in a terminal',
    mode: 'printed',
    sizes: [20],
    quickSizes: [2],
    series: ['raw:pty', 'nerve:screen', 'nerve:no-screen'],
    reference: 'raw:pty',
    per: 'run',
    durable: false,
  },
  {
    id: 'W17',
    title: 'echo at the prompt of a shell in a terminal',
    mode: 'echoed',
    sizes: [1],
    quickSizes: [1],
    series: ['raw:pty', 'nerve:screen', 'nerve:no-screen'],
    reference: 'raw:pty',
    per: 'run',
    durable: false,
  },
  {
    id: 'W18',
    title: 'Ctrl-C while a terminal is flooded, after n MB',
    mode: 'halted',
    sizes: [10],
    quickSizes: [2],
    series: ['raw:pty', 'nerve:screen', 'nerve:no-screen'],
    reference: 'raw:pty',
    per: 'run',
    durable: false,
  },
  {
    id: 'W19',
    title: 'echo as a command of its own',
    mode: 'command',
    sizes: [1],
    quickSizes: [1],
    series: ['raw:spawn', 'nerve:bash'],
    reference: 'raw:spawn',
    per: 'run',
    durable: false,
  },
]
