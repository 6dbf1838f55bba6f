import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type NewMessage, openStore, type Store } from '../../../src/index.ts'
import type { SessionImport } from '../../../src/store/history/import/import-types.ts'
import type { SourceEvent } from '../../../src/transfer/source.ts'
import { claudeCode } from '../../../src/transfer/sources/claude-code.ts'
import { pi } from '../../../src/transfer/sources/pi.ts'
import { roo } from '../../../src/transfer/sources/roo.ts'
import { messagesAfter, rooSequences } from '../../replays/roo-data.ts'
import { expectSessionAccepted, providerOfStep } from '../../support/requests.ts'
import { acts, fileOf } from './claude-code-acts.ts'
import { eventsOf, type Folded, foldEvents, goldenOf, inputOf, linesOf } from './support.ts'

/* What the events mean, and what a store makes of them under its laws. */

let store: Store
let sessions = 0
beforeAll(async () => {
  store = await openStore(':memory:')
})
afterAll(() => store.close())

async function imported(
  events: readonly SourceEvent[],
  id = `s${++sessions}`,
): Promise<SessionImport & { readonly view: string[] }> {
  const told = events.filter(
    (event) => event.type === 'message' || event.type === 'compaction' || event.type === 'fields',
  )
  const done = await store.sessions.import(told, { id, source: 'test' })
  const keys = new Map((await store.getMessages(id)).map((row) => [row.id, row.idempotencyKey] as const))
  await expectSessionAccepted(store, id, id, providerOfStep(sessions))
  const view = (await store.getEffectiveHistory(id)).map((row) =>
    row.kind === 'message' ? keys.get(row.id)! : `[${String(row.content)}]`,
  )
  return { ...done, view }
}

const meant = ({ view }: Folded): string[] =>
  view.map((row) => ('inserted' in row ? `[${row.text}]` : row.idempotencyKey!))

const sequences = rooSequences()

/**
 * The keys of the messages with a call that no message has a result of, since the last request that the assistant answered, in the order
 * of the log.
 */
function openCalls(messages: readonly NewMessage[]): string[] {
  const parts = ({ content }: NewMessage) => (typeof content === 'string' ? [] : content)
  const answered = new Set(
    messages.flatMap(parts).flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : [])),
  )
  const isOpen = (message: NewMessage): boolean =>
    parts(message).some((part) => part.type === 'tool-call' && !answered.has(part.toolCallId))
  const answer = messages.findLastIndex(({ role }) => role === 'assistant')
  const request = messages.slice(0, Math.max(0, answer)).findLastIndex(({ role }) => role === 'user')
  return messages.filter((one, index) => index >= request && isOpen(one)).map((one) => one.idempotencyKey!)
}

it.skipIf(sequences.length === 0)(
  'every step of Roo Code is seen as it is meant, but for calls that wait',
  async () => {
    const counts = { equal: 0, waiting: 0 }
    for (const sequence of sequences) {
      for (const [at, { clean, op }] of sequence.steps.entries()) {
        // What was appended changes no tag.
        if (!clean || (op === 'append' && at < sequence.steps.length - 1)) continue
        const messages = messagesAfter(sequence, at)
        const text = JSON.stringify(messages)
        const events = await eventsOf(roo, inputOf(text, { name: 'api_conversation_history.json' }))
        const { view, compactions } = await imported(events)
        const left = compactions.filter(
          ({ rowsLeft, status }) => rowsLeft !== undefined || status === 'refused',
        )
        const what = `sequence ${sequence.seed}, step ${at}`
        counts[left.length === 0 ? 'equal' : 'waiting'] += 1
        const folded = foldEvents(events)[0]!
        const open = openCalls(folded.messages)
        const told = meant(folded)
        // Law 4: a call that waits for its result stays where it is, wherever that is.
        const stays = (row: string): boolean => open.includes(row) && !told.includes(row)
        // Nothing else differs.
        expect(
          view.filter((row) => !stays(row)),
          what,
        ).toEqual(told)
        expect(
          view.filter((row) => open.includes(row)),
          what,
        ).toEqual(open)
        expect(view.some(stays), what).toBe(left.length > 0)
      }
    }
    expect(counts).toEqual({ equal: 508, waiting: 38 })
  },
)

const golden = goldenOf<{ cases: { fn: string; name: string; input: { entries: object[] } }[] }>(
  'pi-session-tree',
)

it.skipIf(golden === undefined)('every recorded session of pi is seen as it is meant', async () => {
  const header = { type: 'session', version: 3, id: 'x', cwd: '/work' }
  for (const { fn, name, input } of golden!.cases) {
    if (fn !== 'buildSessionContext') continue
    const events = await eventsOf(pi, inputOf(linesOf([header, ...input.entries])))
    const { view, compactions } = await imported(events)
    expect(compactions.every(({ status, rowsLeft }) => status === 'applied' && rowsLeft === undefined)).toBe(
      true,
    )
    expect(view, name).toEqual(meant(foldEvents(events)[0]!))
  }
})

it('a session of Claude Code is seen as it is meant, whatever was rewound', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (all) => {
      const events = await eventsOf(claudeCode, inputOf(linesOf(fileOf(all, '/work')), { piece: 4_096 }))
      const { view } = await imported(events)
      expect(view).toEqual(meant(foldEvents(events)[0]!))
    }),
    { numRuns: 60, seed: 8 },
  )
})

it('a session of Claude Code that grows is seen as if it had been imported whole, and the same again is nothing new', async () => {
  const cuts = fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(acts, cuts, async (all, given) => {
      const entries = fileOf(all, '/work')
      const id = `s${++sessions}`
      const ends = given.map((cut) => 1 + (cut % entries.length)).sort((a, b) => a - b)
      for (const end of [...ends, entries.length]) {
        const some = entries.slice(0, end)
        const events = await eventsOf(claudeCode, inputOf(linesOf(some), { piece: 4_096 }))
        const { view, compactions } = await imported(events, id)
        expect(view).toEqual(meant(foldEvents(events)[0]!))
        expect(compactions.filter(({ status }) => status === 'refused')).toEqual([])
        expect((await imported(events, id)).status).toBe('unchanged')
      }
    }),
    { numRuns: 100, seed: 1 },
  )
})
