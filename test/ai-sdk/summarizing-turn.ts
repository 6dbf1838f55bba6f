/*
 * A request of a chat's session outside of its turns, in a process of its own: `node summarizing-turn.mjs <store> <input tokens>`. Prints
 * "at work" when its summarizer is called, which never returns.
 */
import { openStore, type Summarizer } from '../../src/index.ts'

const [location = '', contextWindowTarget = ''] = process.argv.slice(2)
const summarizer: Summarizer = {
  name: 'slow',
  usesModel: true,
  summarize: () => {
    console.log('at work')
    return new Promise(() => {})
  },
}
const store = await openStore(location, { estimator: 'neurolink', env: false, summarizer })
// A pending promise does not keep a process alive.
setInterval(() => {}, 60_000)
await store.append('c', [{ role: 'user', content: 'First.' }])
await store.prepareRequest('c', { contextWindowTarget: Number(contextWindowTarget) })
