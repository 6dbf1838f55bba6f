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

const owned = { owner: 'ada', limit: 10_000 }
const listed = await store.sessions.list(owned)
const archived = await store.sessions.list({ ...owned, archived: true })
// A session that has forks is purged only if `forks` says what happens to them.
for (const { id } of [...listed, ...archived]) await store.sessions.purge(id, { forks: 'keep' })
// `all` includes the notes that were replaced or forgotten.
for (const { id } of await store.notes.list({ ...owned, all: true }))
  await store.notes.forget(id, { purge: true })
console.log(`After: ${await found()}`)
await store.close()
