import { openStore, type RetentionReport } from '../../src/index.ts'

/*
 * Processes of their own over one file. `remove`: applies retention once, to everything of yesterday. `write`: appends until it gets a
 * message, and says how long its longest append took.
 */

const [file = '', way = 'remove', now = '0'] = process.argv.slice(2)
const store = await openStore(file, { durability: 'normal', env: false })
if (way === 'remove') {
  const rules = { hidden: { olderThanDays: 1 }, archived: { olderThanDays: 1 } }
  process.send?.('begins')
  const report: RetentionReport = await store.privacy.applyRetention({ rules, now: Number(now) })
  process.send?.(report)
} else {
  const state = { ends: false, longestMs: 0, appends: 0 }
  process.once('message', () => {
    state.ends = true
  })
  while (!state.ends) {
    const began = performance.now()
    await store.append('live', [{ role: 'user', content: `message ${state.appends}` }])
    state.longestMs = Math.max(state.longestMs, performance.now() - began)
    state.appends += 1
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  process.send?.(state)
}
await store.close()
process.disconnect?.()
