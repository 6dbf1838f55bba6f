import { openStore } from '../../src/index.ts'
import { storageOf } from '../../src/store/store.ts'

/* Indexes a store in a process of its own, and tells its parent after each transaction. */

const store = await openStore(process.argv[2]!, { durability: 'normal' })
const { searching } = storageOf(store)
for (;;) {
  const unindexed = await searching.unindexed(1_000)
  if (unindexed.length === 0) break
  await searching.index(unindexed)
  process.send?.('indexed')
}
await store.close()
process.disconnect?.()
