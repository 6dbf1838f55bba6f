/*
 * A store in PostgreSQL, which several machines can share. Only the address differs. Run it, after `npm install pg`:
 *
 *   DATABASE_URL=postgres://me@localhost/chats npx tsx examples/06-postgresql.ts
 */
import { openStore } from 'undertext'

const url = process.env.DATABASE_URL
if (url === undefined) throw new Error('Set DATABASE_URL to the address of a database.')

// Two machines, each with a store of its own over the same database.
const berlin = await openStore(url)
const lisbon = await openStore(url)
const { id } = await berlin.sessions.create({ title: 'Shared' })

await berlin.append(id, [{ role: 'user', content: 'Which port does the server use?' }])
await lisbon.append(id, [{ role: 'assistant', content: 'It uses port 8080.' }])

for (const { position, role, content } of await berlin.getMessages(id))
  console.log(`${position} ${role}: ${content}`)
const { hits } = await lisbon.search('8080', { session: id })
console.log(`Found in message ${hits[0]?.position}`)
await berlin.close()
await lisbon.close()
