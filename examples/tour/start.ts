/** `npm start` shows the tour, `npm start -- agents` the agents. */
const [which = '--'] = process.argv.slice(2)
if (which === 'agents') await import('../agents/main.ts')
else if (which.startsWith('--')) await import('./main.ts')
else {
  console.error(`There is no tour '${which}'. There are: npm start, and npm start -- agents`)
  process.exitCode = 2
}
export {}
