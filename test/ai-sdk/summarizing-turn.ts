/*
 * A turn of a chat in a process of its own: `node summarizing-turn.mjs <store> <input tokens>`. Prints "at work" when its summarizer is
 * called, which never returns.
 */
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
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
await chatStore(store).resume(
  { id: 'c', message: { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'First.' }] } },
  { validate: false, request: { contextWindowTarget: Number(contextWindowTarget) } },
)
