import { parentPort, workerData } from 'node:worker_threads'
import { isUndertextError, openStore } from '../../src/index.ts'

/* A thread of its own for the test of leases: compacts by a model, without waiting, and tells what came of it. */

const store = await openStore(workerData as string)
let answer: string
try {
  const result = await store.compactSession('s', {
    targetTokens: 1_000,
    enableTruncate: false,
    waitMs: 0,
    summarizer: { name: 'm', usesModel: true, summarize: () => ({ text: 'Paid twice.' }) },
  })
  answer = result!.compacted ? 'compacted' : 'nothing done'
} catch (error) {
  answer = isUndertextError(error) ? error.code : String(error)
}
await store.close()
parentPort!.postMessage(answer)
