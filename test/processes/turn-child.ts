/*
 * A process that dies in the middle of its turn: `turn-child <store>`. Runs a tool that it claimed, flushes a draft, says so, and waits.
 */
import { openStore } from '../../src/index.ts'

const store = await openStore(process.argv[2]!, { busyTimeoutMs: 30_000 })
const turn = await store.beginTurn('s')
if (turn.draft !== undefined) await turn.keepDraft()
console.log('claimed', await turn.claimCall('call-1'))
await turn.flush([{ role: 'assistant', content: [{ type: 'text', text: 'The answer is' }] }])
console.log('at work')
setInterval(() => undefined, 1_000)
