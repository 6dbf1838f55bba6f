import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getSessionMessages } from '@anthropic-ai/claude-agent-sdk'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SourceEvent } from '../../../src/transfer/source.ts'
import { claudeCode } from '../../../src/transfer/sources/claude-code.ts'
import { SESSION } from '../../claude-agent-sdk/entries.ts'
import { newFolder } from '../../support/temporary.ts'
import { acts, fileOf } from './claude-code-acts.ts'
import { eventsOf, type Folded, foldEvents, inputOf, linesOf } from './support.ts'

/* What is seen of a session must be what the SDK's own reader of Claude Code's files makes of it, whatever was rewound. */

const folder = newFolder()
const dir = join(folder, 'work')
let project: string
beforeAll(() => {
  mkdirSync(dir)
  // How the SDK names a project after its folder.
  project = join(folder, 'config', 'projects', realpathSync(dir).replaceAll(/[^a-zA-Z0-9]/g, '-'))
  mkdirSync(project, { recursive: true })
  process.env.CLAUDE_CONFIG_DIR = join(folder, 'config')
})
afterAll(() => {
  delete process.env.CLAUDE_CONFIG_DIR
})

async function told(entries: readonly object[]): Promise<SourceEvent[]> {
  return eventsOf(claudeCode, inputOf(linesOf(entries), { name: `${SESSION}.jsonl`, piece: 4_096 }))
}

/** What is seen, by uuid: a summary by that of its entry, which is its text. */
function shown({ view }: Folded): string[] {
  const rows = view.filter((row) => 'inserted' in row || row.content.length > 0)
  return rows.map((row) => ('inserted' in row ? row.text : row.idempotencyKey!))
}

it('shows what the SDK reads of a session that was rewound, branched and compacted at will', async () => {
  let rewinds = 0
  let back = 0
  await fc.assert(
    fc.asyncProperty(acts, async (all) => {
      const entries = fileOf(all, dir)
      writeFileSync(join(project, `${SESSION}.jsonl`), linesOf(entries))
      const theirs = (await getSessionMessages(SESSION, { dir })).map(({ uuid }) => uuid)
      const [folded] = foldEvents(await told(entries))
      // Side by side, results stand where they were written; the SDK puts them behind their calls.
      expect([...shown(folded!)].sort()).toEqual([...theirs].sort())
      expect(folded!.messages).toHaveLength(entries.length)
      rewinds += folded!.compactions.filter(({ kind }) => kind === 'manual').length
      back += folded!.compactions.filter(({ undone }) => undone === true).length
    }),
    { numRuns: 150, seed: 8 },
  )
  expect(rewinds).toBeGreaterThan(100)
  expect(back).toBeGreaterThan(20)
})

it('a longer file has the content of the shorter one, and then more', async () => {
  const plain = (events: readonly SourceEvent[]): object[] =>
    events.flatMap((event): object[] => {
      if (event.type === 'message') return [event.message]
      if (event.type !== 'compaction') return []
      const { undone: _, ...compaction } = event.compaction
      return [compaction]
    })
  await fc.assert(
    fc.asyncProperty(acts, fc.nat({ max: 1_000 }), async (all, cut) => {
      const entries = fileOf(all, dir)
      const shorter = plain(await told(entries.slice(0, cut % (entries.length + 1))))
      expect(plain(await told(entries)).slice(0, shorter.length)).toEqual(shorter)
    }),
    { numRuns: 100, seed: 8 },
  )
})
