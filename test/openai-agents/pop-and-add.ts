import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'

/* A process of its own for the test of several at once: pops until nothing is left, or adds batches of three. Tells what it popped. */

const [file = '', work = '', name = '', start = '0'] = process.argv.slice(2)
const store = await openStore(file)
const session = new UndertextSession({ store, sessionId: 'shared' })
while (Date.now() < Number(start)) await new Promise((resolve) => setTimeout(resolve, 1))
const popped: unknown[] = []
if (work === 'pop') {
  for (let item = await session.popItem(); item !== undefined; item = await session.popItem())
    popped.push(item)
} else {
  for (let batch = 0; batch < 15; batch++)
    await session.addItems([1, 2, 3].map((no) => ({ role: 'user', content: `${name} ${batch} ${no}` })))
}
process.stdout.write(JSON.stringify(popped))
await store.close()
