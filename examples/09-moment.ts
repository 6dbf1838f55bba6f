/*
 * What did the model see then? Reads the view at earlier moments, and what has changed since. Run it:
 *
 *   npx tsx examples/09-moment.ts
 */
import { openStore } from 'undertext'

const store = await openStore(':memory:')
for (let turn = 1; turn <= 10; turn++)
  await store.append('talk', [
    { role: 'user', content: `Question ${turn}` },
    { role: 'assistant', content: `Answer ${turn}` },
  ])

// Hides the first three turns. An automatic compaction is named in the same way.
const oldest = await store.getMessages('talk', { limit: 6 })
const compaction = await store.compactions.hide(
  'talk',
  oldest.map(({ id }) => id),
)
await store.append('talk', [{ role: 'user', content: 'Question 11' }])

const moments = {
  'After message 4': { afterMessage: 4 },
  'Before the compaction': { beforeCompaction: compaction.id },
  'After the compaction': { afterCompaction: compaction.id },
}
for (const [name, at] of Object.entries(moments)) {
  const view = await store.getEffectiveHistory('talk', { at })
  console.log(`${name} the model saw ${view.length} messages: ${view[0]?.content} to ${view.at(-1)?.content}`)
}

const { changes } = await store.messages.diff('talk', { beforeCompaction: compaction.id })
const countOf = (change: string) => changes.filter((each) => each.change === change).length
console.log(`Since then ${countOf('disappeared')} messages disappeared and ${countOf('appeared')} appeared`)
await store.close()
