/*
 * A conversation that continues in two ways, and one conclusion that goes back to the original. Run it:
 *
 *   npx tsx examples/08-fork.ts
 */
import { openStore } from 'undertext'

const store = await openStore(':memory:')
await store.append('plan', [
  { role: 'user', content: 'Where shall we travel?' },
  { role: 'assistant', content: 'Norway or Portugal.' },
  { role: 'user', content: 'Norway, then.' },
])

// The fork has the first two messages. The original does not change, and neither sees what is added to the other.
const fork = await store.sessions.fork('plan', { id: 'plan-b', at: { beforeMessage: 3 } })
await store.append(fork.id, [
  { role: 'user', content: 'Portugal, then.' },
  { role: 'assistant', content: 'In May it is warm and not crowded.' },
])
await store.sessions.bringBack(fork.id, { text: 'Portugal is best in May.' })

for (const id of ['plan', 'plan-b']) {
  console.log(`${id}:`)
  for (const { position, role, content } of await store.getEffectiveHistory(id))
    console.log(`  ${position} ${role}: ${content}`)
}
await store.close()
