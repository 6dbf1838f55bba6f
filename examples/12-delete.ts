/*
 * Deletes the conversations and notes of a user for good: afterwards nothing of them can be read from the file. Run it:
 *
 *   npx tsx examples/12-delete.ts
 */
import { rmSync } from 'node:fs'
import { openStore } from 'undertext'

// From an earlier run.
rmSync('deleted.db', { force: true })
const store = await openStore('deleted.db')
for (const [id, owner] of [
  ['first', 'ada'],
  ['second', 'ada'],
  ['third', 'ben'],
] as const) {
  await store.sessions.create({ id, owner })
  await store.append(id, [{ role: 'user', content: `I am ${owner}, and I live in Turin.` }])
}
await store.notes.add('Ada lives in Turin.', { owner: 'ada' })

async function found(): Promise<string[]> {
  const { hits } = await store.search('Turin')
  return hits.map(({ sessionId }) => sessionId).sort()
}
console.log(`Before: ${await found()}`)

const { sessions, notes } = await store.privacy.eraseOwner('ada')
console.log(`Erased: ${sessions} sessions, ${notes} note`)
console.log(`After: ${await found()}`)
await store.close()
