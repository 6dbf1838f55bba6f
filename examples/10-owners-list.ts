/*
 * The list of a user's conversations, newest first, page by page. Those of other users are not in it. Run it:
 *
 *   npx tsx examples/10-owners-list.ts
 */
import { isUndertextError, openStore } from 'undertext'

const store = await openStore(':memory:')
const talks = [
  { owner: 'ada', title: 'Holidays' },
  { owner: 'ben', title: 'Taxes' },
  { owner: 'ada', title: 'A recipe' },
  { owner: 'ada', title: 'A poem' },
]
for (const [day, talk] of talks.entries()) {
  const { id } = await store.sessions.create(talk)
  await store.append(id, [{ role: 'user', content: 'Hello', createdAt: Date.UTC(2026, 0, day + 1) }])
}

// Her store has nothing of other users. Two on a page; the last session of a page is where the next one begins.
const ada = store.forOwner('ada')
let page = await ada.sessions.list({ limit: 2 })
for (let number = 1; page.length > 0; number++) {
  console.log(`Page ${number}`)
  for (const { title, newestAt } of page)
    console.log(`  ${new Date(newestAt).toISOString().slice(0, 10)} ${title}`)
  page = await ada.sessions.list({ limit: 2, after: page.at(-1)! })
}

// Another user's conversation is unknown to it, whichever id the browser sends.
const [foreign] = await store.forOwner('ben').sessions.list()
try {
  await ada.sessions.get(foreign!.id)
} catch (error) {
  if (!isUndertextError(error, 'SESSION_NOT_FOUND')) throw error
  console.log('Not found for ada')
}
await store.close()
