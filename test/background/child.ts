import { appendFileSync } from 'node:fs'
import { afterTurn } from '../../src/compat/index.ts'
import { openStore } from '../../src/index.ts'

/*
 * A process of its own that compacts the session `s` in the background by a model. `way` says where it stops for ever, so that
 * it can be killed there: while the model works, or between its answer and the commit. `go`: it goes on to the end.
 */

const [file = '', log = '', way = 'go', start = '0'] = process.argv.slice(2)
const never = new Promise<never>(() => undefined)

const store = await openStore(file, {
  durability: 'normal',
  config: {
    contextWindows: { openai: 3_000 },
    maxOutputTokens: 1_000,
    backgroundMinIntervalMs: 0,
    enablePrune: false,
    enableDeduplicate: false,
    enableTruncate: false,
  },
  summarizer: {
    name: 'model',
    usesModel: true,
    summarize: async () => {
      appendFileSync(log, 'asked\n')
      process.send?.('asked')
      if (way === 'asked') await never
      await new Promise((resolve) => setTimeout(resolve, 50))
      return { text: 'In short.' }
    },
  },
})
if (way === 'answered') {
  store.compactions.onBefore(() => {
    process.send?.('answered')
    return never
  })
}
while (Date.now() < Number(start)) await new Promise((resolve) => setTimeout(resolve, 1))
const turn = await afterTurn(store, 's')
await store.jobs.whenIdle('s')
process.send?.(turn.run === null ? 'background' : 'foreground')
await store.close()
// A promise that is never kept does not hold a process; an open channel does.
process.disconnect?.()
