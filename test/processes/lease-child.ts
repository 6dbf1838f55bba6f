/*
 * Another process at the same file: `lease-child <work> <file> <milliseconds its clock is ahead>`. Says "at work" when its model is asked, or its
 * import has written something, goes on at the first line on its standard input, and says how it ended.
 */
import { createInterface } from 'node:readline'
import { isUndertextError, type NewMessage, openStore } from '../../src/index.ts'

const [work, file, aheadMs] = process.argv.slice(2)
const now = Date.now.bind(Date)
Date.now = () => now() + Number(aheadMs)

const goesOn = new Promise<void>((resolve) => createInterface(process.stdin).once('line', () => resolve()))
const atWork = async (): Promise<void> => {
  console.log('at work')
  await goesOn
}

async function* events() {
  for (let at = 1; at <= 2_000; at++) {
    const message: NewMessage = { role: 'user', content: `m${at}`, idempotencyKey: `k${at}` }
    yield { type: 'message' as const, message }
  }
  await atWork()
}

const summarizer = {
  name: 'slow',
  usesModel: true,
  summarize: async () => {
    await atWork()
    return { text: 'In short.' }
  },
}
const works: { readonly [work: string]: () => Promise<unknown> } = {
  compact: async () => {
    const config = { targetTokens: 300, keepRecentTokens: 100, summarizer, waitMs: 0 }
    return (await store.compactSession('s', config))?.compacted === true ? 'compacted' : 'nothing'
  },
  import: async () => (await store.sessions.import(events(), { id: 'imported', source: 'elsewhere' })).status,
}

const store = await openStore(file!, { estimator: 'neurolink' })
try {
  console.log('ended', await works[work!]!())
} catch (error) {
  console.log('ended', isUndertextError(error) ? error.code : error)
}
await store.close()
process.exit()
