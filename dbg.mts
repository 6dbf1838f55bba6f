import { readFileSync } from 'node:fs'
import { fromAnthropic } from './src/adapters/anthropic/from-anthropic.ts'
import { extractiveSummarizer } from './src/core/summarizers/extractive.ts'
import { SUMMARY_SECTIONS } from './src/core/summarizers/summarizer.ts'
const lines = readFileSync('/work/shared/corpus/coding-session.anthropic.jsonl', 'utf8').trim().split('\n')
const rows = fromAnthropic(lines.map((l) => JSON.parse(l))).map((m: any) => ({ ...m, kind: 'message' })).slice(0, 344)
const a: any = await extractiveSummarizer.summarize({ sessionId: 's', messages: rows as any, sections: SUMMARY_SECTIONS, maxTokens: Number(process.argv[2]), files: { read: [], modified: [] } })
console.log(a.text)
