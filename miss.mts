import { readConversations } from './bench/retention/conversations.ts'
import { cutsOf } from './bench/retention/measure.ts'
import { Words } from './bench/retention/identifiers.ts'
import { partsOf, textOf } from './bench/retention/parts.ts'
import { tokensOf } from './bench/retention/window.ts'
import { CONTESTANTS } from './bench/retention/contestants.ts'
const G = globalThis as any
G.K = { SS: 0.9, NS: 0.2, ML: 8, MX: 40, LW: 0.0002, LW2: 0.0008 }
const [, , kind, show = '0'] = process.argv
const compact = CONTESTANTS.find(({ name }) => name === 'default')!.compact
const file = readConversations(kind!.includes('/') ? kind! : `/tmp/h/data/dev/${kind}.openai.jsonl`)
const by: Record<string, number> = {}; let total = 0
const names: string[] = []
for (const c of file.conversations.slice(0, 4)) { const all = cutsOf(c); for (const cut of [all[Math.floor(all.length * 0.6)], all.at(-1)]) { if (!cut) continue
  const { view } = await compact(cut.before, Math.floor(tokensOf(cut.before) * 0.25))
  const w = new Words(textOf(view))
  for (const n of cut.wanted) if (!w.has(n)) {
    total++
    const where = new Set<string>(); let count = 0, last = 0
    cut.before.forEach((m, i) => { for (const p of partsOf(m)) { const t = textOf([{ ...m, content: [p] } as never]); if (new Words(t).has(n)) { count++; last = i; where.add(p.type === 'text' ? m.role : p.type === 'tool-call' ? (t.length > 600 ? 'arg-long' : 'arg-short') : p.type) } } })
    const k = [...where].sort().join('+') + (count > 2 ? ' many' : count > 1 ? ' two' : ' once')
    by[k] = (by[k] ?? 0) + 1
    if (names.length < Number(show)) names.push(`${n} [${k}] age ${cut.before.length - last}`)
  } } }
console.log(kind, total); for (const [k, v] of Object.entries(by).sort((a, b) => b[1] - a[1]).slice(0, 14)) console.log((v / total).toFixed(2), k)
console.log(names.join('\n'))
