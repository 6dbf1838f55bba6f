import { openStore } from '../../src/index.ts'
import { importFile } from '../../src/transfer/index.ts'

/* Imports a file into a store, as a process of its own: `script STORE FILE`. Says the totals and the highest size of the heap. */

const [location, path] = process.argv.slice(2)
const store = await openStore(location!, { config: { previewToolOutputs: false } })
let heap = 0
const onProgress = (): void => {
  heap = Math.max(heap, process.memoryUsage().heapUsed)
}
const { totals } = await importFile(store, path!, { onProgress })
await store.close()
console.log(JSON.stringify({ totals, heap }))
