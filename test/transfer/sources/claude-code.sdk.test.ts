import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getSessionMessages } from '@anthropic-ai/claude-agent-sdk'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SourceEvent } from '../../../src/transfer/source.ts'
import { claudeCode } from '../../../src/transfer/sources/claude-code.ts'
import { SESSION } from '../../claude-agent-sdk/entries.ts'
import { answer, boundary, call, result, summary, user } from './claude-code-entries.ts'
import { eventsOf, type Folded, foldEvents, inputOf, linesOf } from './support.ts'

/* What is seen of a session must be what the SDK's own reader of Claude Code's files makes of it, whatever was rewound. */

const folder = mkdtempSync(join(tmpdir(), 'undertext-claude-'))
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
  rmSync(folder, { recursive: true, force: true })
})

type Entry = { readonly uuid: string; readonly parentUuid: string | null } & object

/** What somebody does: says something, calls tools side by side, goes back to an entry, compacts. */
type Act = { readonly act: 'turn' | 'tools' | 'back' | 'compact'; readonly at: number }
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    act: fc.constantFrom(
      'turn' as const,
      'turn' as const,
      'tools' as const,
      'back' as const,
      'compact' as const,
    ),
    at: fc.nat({ max: 1_000 }),
  }),
  { minLength: 1, maxLength: 14 },
)

/** A file of such acts. Uuids are as Claude Code has them. */
function fileOf(all: readonly Act[]): Entry[] {
  const entries: Entry[] = []
  let leaf: string | null = null
  const next = (): string => `00000000-0000-4000-8000-${String(entries.length + 1).padStart(12, '0')}`
  const add = (make: (uuid: string) => object): string => {
    const uuid = next()
    entries.push({ ...make(uuid), sessionId: SESSION, cwd: dir } as unknown as Entry)
    return uuid
  }
  /** Ends of turns: where one can go back to. */
  const ends: string[] = []
  const say = (): void => {
    const asked = add((uuid) => user(uuid, leaf))
    leaf = add((uuid) => answer(uuid, asked))
    ends.push(leaf)
  }
  for (const { act, at } of all) {
    if (act === 'turn' || leaf === null) say()
    else if (act === 'tools') {
      const asked: string = add((uuid) => user(uuid, leaf))
      const answerId = `m-${asked}`
      const first = add((uuid) => call(uuid, asked, answerId))
      const second = add((uuid) => call(uuid, first, answerId))
      const brought = add((uuid) => result(uuid, first, first))
      const last = add((uuid) => result(uuid, second, second))
      leaf = add((uuid) => answer(uuid, at % 2 === 0 ? last : brought))
      ends.push(leaf)
    } else if (act === 'back') {
      leaf = at % 7 === 0 ? null : ends[at % ends.length]!
      say()
    } else {
      const before: string = leaf
      const start = add((uuid) => boundary(uuid, before))
      leaf = add((uuid) => summary(uuid, start))
      say()
    }
  }
  return entries
}

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
      const entries = fileOf(all)
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

it('a longer file tells what the shorter one told, and then more', async () => {
  const plain = (events: readonly SourceEvent[]): object[] =>
    events.flatMap((event): object[] => {
      if (event.type === 'message') return [event.message]
      if (event.type !== 'compaction') return []
      const { undone: _, ...compaction } = event.compaction
      return [compaction]
    })
  await fc.assert(
    fc.asyncProperty(acts, fc.nat({ max: 1_000 }), async (all, cut) => {
      const entries = fileOf(all)
      const shorter = plain(await told(entries.slice(0, cut % (entries.length + 1))))
      expect(plain(await told(entries)).slice(0, shorter.length)).toEqual(shorter)
    }),
    { numRuns: 100, seed: 8 },
  )
})
