/*
 * Moves a store and says after each session and each batch what is done.
 *
 *   node move-in-process.js <from> <to> <messages until it waits to be killed, or "all">
 *
 * At the end it prints the report, and the most bytes of the heap after collections.
 */
import { openStore } from '../../src/index.ts'
import { moveStore } from '../../src/transfer/index.ts'

const [from = '', to = '', until = 'all'] = process.argv.slice(2)
const collect = (globalThis as { gc?: () => void }).gc

const source = await openStore(from, { readonly: true })
const target = await openStore(to)
let copied = 0
let heap = 0
const report = await moveStore(source, target, {
  onMessages: (count) => {
    copied += count
    collect?.()
    heap = Math.max(heap, process.memoryUsage().heapUsed)
    if (until === 'all' || copied < Number(until)) return
    process.stdout.write('waiting\n')
    // Nothing goes on until the process is killed.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600_000)
  },
})
process.stdout.write(`${JSON.stringify({ ...report, heap })}\n`)
await source.close()
await target.close()
