import { readConversations } from './bench/retention/conversations.ts'
import { cutsOf, keptIn } from './bench/retention/measure.ts'
import { summaryFigures, summaryIn, type Written } from './bench/retention/summaries.ts'
import { newestWindow, tokensOf } from './bench/retention/window.ts'
import { CONTESTANTS } from './bench/retention/contestants.ts'
const G = globalThis as any
const [, , filesArg, ...configs] = process.argv
const share = Number(process.env.SHARE ?? 0.25), MAXC = Number(process.env.CUTS ?? 5)
const compact = CONTESTANTS.find(({ name }) => name === 'default')!.compact
const files = filesArg!.split(',').map((f) => f.includes('/') ? f : `/tmp/h/data/dev/${f}.openai.jsonl`)
const data = files.map((f) => { const file = readConversations(f); const cuts = file.conversations.slice(0, 4).flatMap((c) => { const all = cutsOf(c); const n = Math.min(MAXC, all.length); return Array.from({ length: n }, (_, i) => all[Math.floor((i + 0.99) * all.length / n)]!).filter(Boolean) }); return { name: file.name.replace('.openai.jsonl', ''), cuts } })
for (const cfg of configs) {
  G.K = Object.fromEntries(cfg.split(' ').map((p) => p.split('=').map((x, i) => i ? Number(x) : x)))
  console.log(`== ${cfg}`)
  for (const { name, cuts } of data) {
    let lost = 0, lostW = 0, lostS = 0, lostSW = 0; const written: Written[] = []; let st = 0, vt = 0
    for (const c of cuts) {
      const budget = Math.floor(tokensOf(c.before) * share)
      const { view } = await compact(c.before, budget)
      const win = newestWindow(c.before, tokensOf(view))
      const said = [...c.said]
      lost += c.wanted.length - keptIn(view, c.wanted); lostW += c.wanted.length - keptIn(win, c.wanted)
      lostS += said.length - keptIn(view, said); lostSW += said.length - keptIn(win, said)
      const s = summaryIn(view, c.before); if (s) { written.push({ conversation: c.conversation, before: c.before, after: c.after, view, ...s }); st += s.text.length / 4 }
      vt += tokensOf(view)
    }
    const f = summaryFigures(written, [])
    const p = (x?: number) => x === undefined ? '  –' : x.toFixed(2)
    console.log(name.padEnd(28), `loss ${p(lost / lostW)} said ${p(lostS / lostSW)} | lists ${p(f.lists)} used ${p(f.usedNames)} junk ${p(f.junkNames)} | cur old ${p(f.oldCurrent)} no ${p(f.withoutCurrent)} | out praise ${p(f.praise)} ann ${p(f.announcements)} frag ${p(f.fragments)} none ${p(f.withoutOutcome)} | summary/view ${(st / vt).toFixed(2)} n ${cuts.length}`)
  }
}
