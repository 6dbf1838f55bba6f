/*
 * Imports a conversation from a file and finds a message in it. Sessions of Claude Code, exports of ChatGPT and Claude, and lines of
 * messages are recognized. Run it, with a file and words of your own if you like:
 *
 *   npx tsx examples/07-import-and-search.ts
 *   npx tsx examples/07-import-and-search.ts conversations.json 'a name, a path, a question'
 */
import { writeFile } from 'node:fs/promises'
import { openStore } from 'undertext'
import { importFile } from 'undertext/transfer'

const [file = 'talk.jsonl', words = 'late fee'] = process.argv.slice(2)
if (file === 'talk.jsonl') {
  const lines = [
    { role: 'user', content: 'Why is the invoice one cent too high?' },
    { role: 'assistant', content: 'The late fee rounds each line.' },
    { role: 'user', content: 'Then round the sum.' },
    { role: 'assistant', content: 'Done.' },
  ]
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

const store = await openStore('imported.db')
const { source, totals } = await importFile(store, file)
console.log(`${source}: ${totals.messages} new messages`)

const { hits } = await store.search(words, { limit: 3 })
for (const { sessionId, position, snippet } of hits) console.log(`${sessionId} ${position}: ${snippet.text}`)
await store.close()
