/*
 * Writes a conversation to files: a page for people, and a copy that another store can restore. Run it:
 *
 *   npx tsx examples/11-export.ts
 */
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { openStore } from 'undertext'
import { exportHtml, historyLines, importFile } from 'undertext/transfer'

const store = await openStore(':memory:')
await store.append('talk', [
  { role: 'user', content: 'Why is the invoice one cent too high?' },
  { role: 'assistant', content: 'It rounds each line. Round the sum instead.' },
])

await pipeline(exportHtml(store, 'talk'), createWriteStream('talk.html'))
await pipeline(historyLines(store.sessions.export('talk')), createWriteStream('talk.jsonl'))

const other = await openStore(':memory:')
const { source, totals } = await importFile(other, 'talk.jsonl')
console.log(`${source}: ${totals.messages} messages restored`)
const [before, after] = await Promise.all([store, other].map((each) => each.getMessages('talk')))
console.log(`The same: ${JSON.stringify(before) === JSON.stringify(after)}`)
await store.close()
await other.close()
