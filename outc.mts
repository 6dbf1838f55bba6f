import { readConversations } from '/tmp/h/s-state/bench/retention/conversations.ts'
import { ConversationReader } from '/tmp/h/s-state/src/core/summarizers/extractive/conversation-reader.ts'
import { CallReader } from '/tmp/h/s-state/src/core/summarizers/calls.ts'
import { outcomeOf } from '/tmp/h/s-state/src/core/summarizers/extractive/statements.ts'
const [, , file, n = '3'] = process.argv
for (const c of readConversations(file!).conversations.slice(0, Number(n))) {
  const r = new ConversationReader(); const calls = new CallReader()
  for (const m of c.messages) r.add(m as never, calls.add(m as never))
  for (const e of r.conversation().exchanges) console.log('REQ', e.request.text.slice(0, 90).replaceAll('\n', ' '), '\n   →', outcomeOf(e.replies, 200))
}
