import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import type { HistoryLine } from '../../src/transfer/history-lines.ts'
import {
  type CheckedHistory,
  checkHistory,
  type RestoredHistory,
  recognizeHistory,
  restoreFrom,
} from '../../src/transfer/history-lines.ts'
import { linesOf, numbered } from '../history/support.ts'
import { storageOf } from '../support/apply-stage.ts'
import { chat, say } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'

let store: Store
let other: Store
/** Two histories: 12 lines (header, session, compaction, audit, 6 messages, summary, end) and 5. */
let first: string[]
let second: string[]

beforeAll(async () => {
  store = await openStore(':memory:')
  await store.append('a', chat(3))
  await store.compactSession('a', { range: { from: 1, to: 2 }, summary: 'before' })
  await store.append('b', [say('user', CANARY), say('assistant', 'yes')])
  await store.sessions.update('b', { title: 'Second' })
  first = await linesOf(store, 'a')
  second = await linesOf(store, 'b')
  expect([first.length, second.length]).toEqual([12, 5])
})
afterAll(() => store.close())

async function checked(lines: Iterable<HistoryLine>): Promise<CheckedHistory[]> {
  const found = []
  for await (const one of checkHistory(lines)) found.push(one)
  return found
}

/** What a restore into a new store comes to: what became of each history. */
async function restored(lines: readonly string[]): Promise<RestoredHistory[]> {
  other = await openStore(':memory:')
  const done: RestoredHistory[] = []
  for await (const one of restoreFrom(other, numbered(lines))) done.push(one)
  expect(JSON.stringify(done)).not.toContain(CANARY)
  expect(await storageOf(other).importsInProgress()).toEqual([])
  return done
}

/** The same for lines of which nothing may be restored: the one refusal. */
async function refused(lines: readonly string[]): Promise<object> {
  const [only] = await restored(lines)
  expect(await sessions()).toEqual([])
  if (only === undefined || !('refused' in only)) throw new Error('it is restored')
  const { code, ...problem } = only.refused
  expect(code).toBe('HISTORY_REFUSED')
  return problem
}
const sessions = async (): Promise<string[]> => (await other.sessions.list()).map(({ id }) => id)

describe('the lines of histories', () => {
  it('are checked without a store', async () => {
    expect(await checked(numbered([...first, '', ...second]))).toEqual([
      {
        ...{ line: 1, lastLine: 12, session: { id: 'a' } },
        counts: { compactions: 1, audit: 1, messages: 6, inserted: 1, replacements: 0 },
      },
      {
        ...{ line: 14, lastLine: 18, session: { id: 'b', title: 'Second' } },
        counts: { compactions: 0, audit: 0, messages: 2, inserted: 0, replacements: 0 },
      },
    ])
  })

  it('are restored one after the other', async () => {
    expect(await restored([...first, ...second, ''])).toMatchObject([
      { line: 1, lastLine: 12, restored: { sessionId: 'a', messages: 6, compactions: 1 } },
      { line: 13, lastLine: 17, restored: { sessionId: 'b', messages: 2, compactions: 0 } },
    ])
    expect(await sessions()).toEqual(['b', 'a'])
  })

  it('are empty when there are none', async () => {
    expect(await checked([])).toEqual([])
    expect(await restored(['', ' '])).toEqual([])
  })

  it.each([1, 2, 3, 5, 11])('cut after line %i are rejected, and nothing is stored', async (kept) => {
    const lines = first.slice(0, kept)
    const problem = { line: kept, why: 'the file ends within it' }
    expect(await refused(lines)).toEqual(problem)
    expect(await checked(numbered(lines))).toMatchObject([{ line: 1, lastLine: kept, problem }])
  })

  it('cut within a line are refused there', async () => {
    const lines = [...first.slice(0, 6), first[6]!.slice(0, 20)]
    expect(await refused(lines)).toEqual({ line: 7, why: 'it is not JSON' })
  })

  it('with another letter in a message are rejected by the checksum', async () => {
    const lines = [...second]
    lines[3] = lines[3]!.replace('yes', 'yep')
    expect(lines[3]).not.toBe(second[3])
    const problem = { line: 5, why: 'its checksum does not match: lines were changed' }
    expect(await refused(lines)).toEqual(problem)
    expect(await checked(numbered(lines))).toMatchObject([{ problem }])
  })

  it('without a checksum are refused', async () => {
    const { sha256: _, ...end } = JSON.parse(second.at(-1)!) as { sha256: string }
    const lines = [...second.slice(0, -1), JSON.stringify(end)]
    expect(await refused(lines)).toEqual({ line: 5, why: 'its checksum does not match: lines were changed' })
  })

  it('exchanged are rejected at the first of them', async () => {
    const lines = [...first]
    ;[lines[4], lines[5]] = [lines[5]!, lines[4]!]
    expect(await refused(lines)).toEqual({ line: 5, why: 'position must be 1' })
  })

  it('with a blank one among them are refused', async () => {
    expect(await refused([...first.slice(0, 5), '', ...first.slice(5)])).toEqual({
      ...{ line: 6, why: 'it is not JSON' },
    })
  })

  it('of a reader that could not read one are refused with its reason', async () => {
    const lines: HistoryLine[] = numbered(second)
    lines[2] = { number: 3, problem: 'it is not UTF-8' }
    expect(await checked(lines)).toMatchObject([{ problem: { line: 3, why: 'it is not UTF-8' } }])
  })

  it('continue after a bad history', async () => {
    const bad = [...second]
    bad[2] = bad[2]!.replace('"user"', '"nobody"')
    const lines = [...bad, ...first]
    const problem = { line: 3, why: expect.stringContaining('role') as string }
    expect(await restored(lines)).toMatchObject([
      { line: 1, lastLine: 5, refused: { code: 'HISTORY_REFUSED', ...problem } },
      { line: 6, lastLine: 17, restored: { sessionId: 'a' } },
    ])
    expect(await sessions()).toEqual(['a'])
    expect(await checked(numbered(lines))).toMatchObject([{ problem }, { line: 6, session: { id: 'a' } }])
  })

  it('of a history cut by the next one do not take that with them', async () => {
    const lines = [...first.slice(0, 6), ...second]
    const problem = { line: 7, why: 'another history begins before its end' }
    expect(await restored(lines)).toMatchObject([
      { line: 1, lastLine: 6, refused: problem },
      { line: 7, lastLine: 11, restored: { sessionId: 'b' } },
    ])
    expect(await checked(numbered(lines))).toMatchObject([{ problem }, { line: 7, session: { id: 'b' } }])
  })

  it('are restored under other ids by their order, and continue after one whose id is taken', async () => {
    other = await openStore(':memory:')
    await other.append('b', chat(1))
    const lines = numbered([...first, ...second, ...second, ...second])
    const done: RestoredHistory[] = []
    for await (const one of restoreFrom(other, lines, { ids: ['x', undefined, 'y', 'b'] })) done.push(one)
    expect(done).toMatchObject([
      { line: 1, restored: { sessionId: 'x' } },
      { line: 13, refused: { code: 'SESSION_EXISTS', line: 13 } },
      { line: 18, restored: { sessionId: 'y' } },
      { line: 23, lastLine: 27, refused: { code: 'SESSION_EXISTS', line: 23 } },
    ])
    // The messages of `b` are new; those of the restored ones are as old as they were.
    expect(await sessions()).toEqual(['b', 'y', 'x'])
  })

  it('end with what is not about one history', async () => {
    other = await openStore(':memory:')
    await other.close()
    const all = restoreFrom(other, numbered([...first, ...second]))
    await expect(all.next()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})

describe('a file', () => {
  const head = (values: unknown[]) => ({ name: 'x.jsonl', shape: 'lines' as const, values })

  it('is recognized by its first line', () => {
    expect(recognizeHistory(head(first.map((line) => JSON.parse(line) as unknown)))).toBe(true)
    expect(recognizeHistory(head([{ type: 'header', format: 'another' }]))).toBe(false)
    expect(recognizeHistory(head([{ type: 'session', version: 3 }]))).toBe(false)
    expect(recognizeHistory(head([]))).toBe(false)
    expect(recognizeHistory(head(['undertext history']))).toBe(false)
  })
})

describe('lines', () => {
  it('may be plain texts, with or without line feeds', async () => {
    for (const lines of [first, first.map((line) => `${line}\n`), `${first.join('\r\n')}\r\n`.split('\n')]) {
      other = await openStore(':memory:')
      const done = []
      for await (const one of restoreFrom(other, lines)) done.push(one)
      expect(done).toMatchObject([{ line: 1, lastLine: 12, restored: { sessionId: 'a' } }])
      const found = []
      for await (const one of checkHistory([...lines, ...second])) found.push(one)
      expect(found.map(({ session }) => session?.id)).toEqual(['a', 'b'])
      await other.close()
    }
  })

  it.each([
    ['a text', 'some text'],
    ['undefined', undefined],
    ['a number', 7],
    ['lines that are no lines', [7]],
    ['lines without a number', [{ text: '{}' }]],
    ['lines without a text', [{ number: 1, text: 7 }]],
  ])('refuses %s, and says what to pass', async (_, lines) => {
    other = await openStore(':memory:')
    const refusal = { code: 'INVALID_INPUT', message: expect.stringContaining('readLines') }
    await expect((async () => restoreFrom(other, lines as never).next())()).rejects.toMatchObject(refusal)
    await expect((async () => checkHistory(lines as never).next())()).rejects.toMatchObject(refusal)
    await other.close()
  })
})
