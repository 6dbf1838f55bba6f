import { openStore } from '../../src/index.ts'
import type { ImportEvent } from '../../src/store/history/import/import-types.ts'

/* Imports a conversation that never ends into the store it is told, and says so after some messages: to be killed. */

async function* endless(): AsyncGenerator<ImportEvent> {
  for (let nth = 1; ; nth++) {
    const content = [
      { type: 'text', text: `m${nth}` },
      { type: 'image', image: new Uint8Array(5_000).fill(nth % 7) },
    ] as const
    yield { type: 'message', message: { role: 'user', content, idempotencyKey: `k${nth}` } }
    if (nth === 1_400) process.stdout.write('under way\n')
    if (nth > 1_400) await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const store = await openStore(process.argv[2]!)
await store.sessions.import(endless(), { id: 's', source: 'elsewhere' })
