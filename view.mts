import { readConversations } from './bench/retention/conversations.ts'
import { cutsOf } from './bench/retention/measure.ts'
import { summaryIn } from './bench/retention/summaries.ts'
import { tokensOf } from './bench/retention/window.ts'
import { CONTESTANTS } from './bench/retention/contestants.ts'
const [, , f, conv = '0', k = '0.7', share = '0.25'] = process.argv
;(globalThis as any).K = { SS: 0.9, NS: 0.2, ML: 8, MX: 40, LW: 0.0003 }
const compact = CONTESTANTS.find(({ name }) => name === 'default')!.compact
const c = readConversations(f!.includes('/') ? f! : `/tmp/h/data/dev/${f}.openai.jsonl`).conversations[Number(conv)]!
const cuts = cutsOf(c); const cut = cuts[Math.floor(cuts.length * Number(k))]!
const { view } = await compact(cut.before, Math.floor(tokensOf(cut.before) * Number(share)))
const s = summaryIn(view, cut.before)
console.log(`# ${c.name} before ${cut.before.length} covered ${s?.covered}`)
console.log(s?.text.split('## Tool Calls')[0])
