import { readConversations } from '/tmp/h/s-state/bench/retention/conversations.ts'
import { cutsOf } from '/tmp/h/s-state/bench/retention/measure.ts'
import { identifiersOf, Words } from '/tmp/h/s-state/bench/retention/identifiers.ts'
import { textOf, wordsOfAssistant } from '/tmp/h/s-state/bench/retention/parts.ts'
import { newestWindow, tokensOf } from '/tmp/h/s-state/bench/retention/window.ts'
import { ConversationReader } from '/tmp/h/s-state/src/core/summarizers/extractive/conversation-reader.ts'
import { isListable } from '/tmp/h/s-state/src/core/summarizers/extractive/names.ts'
import { CallReader } from '/tmp/h/s-state/src/core/summarizers/calls.ts'
const [, , file, share = '0.25'] = process.argv
const KS = [25, 50, 100, 200, 400, 800, 1600]
const hit = KS.map(() => 0), tot = KS.map(() => 0), chars = KS.map(() => 0)
let need = 0, needListable = 0, budgets = 0
for (const c of readConversations(file!).conversations) for (const { before, after, wanted } of cutsOf(c)) {
  const budget = Math.floor(tokensOf(before) * Number(share))
  const tail = newestWindow(before, Math.floor(budget * 0.6))
  budgets += budget
  const inTail = new Words(textOf(tail))
  const miss = wanted.filter((w) => !inTail.has(w)); need += miss.length
  needListable += miss.filter(isListable).length
  const missing = new Set(miss)
  const r = new ConversationReader(); const calls = new CallReader()
  const covered = before.slice(0, before.length - tail.length)
  for (const m of covered) r.add(m as never, calls.add(m as never))
  const { names, count } = r.conversation()
  const all: [string, number][] = []
  names.each((n) => { if (isListable(n) && !inTail.has(n)) { const v = names.valueOf(n, count); if (v > 0) all.push([n, v / (n.length+2)]) } })
  all.sort((a, b) => b[1] - a[1])
  let h = 0, ch = 0
  all.forEach(([n], i) => { if (missing.has(n)) h++; ch += n.length + 2; const k = KS.indexOf(i + 1); if (k >= 0) { hit[k] += h; tot[k] += i + 1; chars[k] += ch } })
  KS.forEach((k, i) => { if (all.length < k) { hit[i] += h; tot[i] += all.length; chars[i] += ch } })
}
console.log(file!.split('/').pop(), 'missing', need, 'listable', needListable)
KS.forEach((k, i) => console.log(`k=${k} precision ${(hit[i] / tot[i]).toFixed(3)} recall of missing ${(hit[i] / need).toFixed(2)} share of budget ${(chars[i] / 4 / budgets).toFixed(3)}`))
