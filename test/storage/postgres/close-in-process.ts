import { once } from 'node:events'
import { openStore } from '../../../src/index.ts'

/* A process of its own: opens a store, and closes it when it gets a line. Nothing else keeps it alive. */

const store = await openStore(process.argv[2]!, { env: false })
console.log('open')
await once(process.stdin, 'data')
process.stdin.destroy()
await store.close()
