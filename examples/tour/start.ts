/** `npm start` shows the tour, `npm start -- agents` the agents. */
await import(process.argv[2] === 'agents' ? '../agents/main.ts' : './main.ts')
