/*
 * An undo button and a redo button for what changes the view: compactions, and turns that the user takes back. Run it:
 *
 *   npx tsx examples/03-undo-button.ts
 */
import { openStore } from 'undertext'

const store = await openStore(':memory:')
const turn = (['user', 'assistant'] as const).map((role) => ({ role, content: 'Some words. '.repeat(30) }))

/** Undoes the newest change that is in force. */
async function undo(): Promise<void> {
  const change = (await store.listCompactions('talk')).findLast(({ status }) => status === 'active')
  if (change !== undefined) await store.undoCompaction('talk', change.runId)
}

/** Redoes the oldest change that is undone, which is the one that was undone last. */
async function redo(): Promise<void> {
  const change = (await store.listCompactions('talk')).find(({ status }) => status === 'undone')
  if (change !== undefined) await store.redoCompaction('talk', change.runId)
}

async function show(event: string): Promise<void> {
  const view = await store.getEffectiveHistory('talk')
  console.log(`${event}: ${view.length} messages, the last one is number ${view.at(-1)?.position}`)
}

for (let number = 1; number <= 30; number++) await store.append('talk', turn)
await show('30 turns')
// A summary takes the place of the first 50 messages.
await store.compactSession('talk', { range: { from: 1, to: 50 } })
await show('compacted')
await store.append('talk', turn)
await show('one more turn')
// Rewinds the last turn. Its first message is at position 61.
await store.rewind('talk', { from: { beforeMessage: 61 } })
await show('rewound')
await undo()
await show('undo')
await undo()
await show('undo again')
await redo()
await show('redo')
await store.close()
