// usage: tsx sum.ts FILE [conversation] [share] [cutShare]
import { readConversations } from './bench/retention/conversations.ts'
import { extractiveSummarizer } from './src/core/summarizers/extractive.ts'
import { SUMMARY_SECTIONS } from './src/core/summarizers/summarizer.ts'
import { tokensOf } from './bench/retention/window.ts'
const [, , file, conv = '0', share = '0.12', cut = '0.7'] = process.argv
const c = readConversations(file!).conversations[Number(conv)]!
const at = Math.floor(c.messages.length * Number(cut))
const messages = c.messages.slice(0, at).map((m) => ({ kind: 'message' as const, ...m }))
const maxTokens = Math.floor(tokensOf(messages as never) * Number(share))
const a = await extractiveSummarizer.summarize({ sessionId: 's', messages: messages as never, sections: SUMMARY_SECTIONS, maxTokens, files: { read: [], modified: [] } } as never)
console.log(`# ${c.name} ${messages.length} of ${c.messages.length} messages, maxTokens ${maxTokens}`)
console.log(a.text)
