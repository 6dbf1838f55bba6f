import { describe, expect, test } from 'vitest'
import type { CompactionConfig, CompactionResult, NewMessage, Store } from '../../../src/index.ts'
import { call, calls, failure, result, say } from '../../support/conversation.ts'
import { appendAll, type Contract, historyTokens, ONLY, refusal, S, standing, texts } from './support.ts'

/** A file of so many lines, each of 8 characters with its line break. */
function lines(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, at) => `line${String(from + at).padStart(3, '0')}\n`).join(
    '',
  )
}

function read(id: string, path: string, text: string, input: object = {}, tool = 'read_file'): NewMessage[] {
  return [call(id, tool, { path, ...input }), result(id, text)]
}

const POINTER = '[File src/a.ts - refer to latest read below]'
const config: CompactionConfig = { ...ONLY.deduplicate, targetTokens: 0, deduplicateMinimumSavings: 0 }

function deduplicate(store: Store, more: CompactionConfig = {}): Promise<CompactionResult | null> {
  return store.compactSession(S, { ...config, ...more })
}

/** Which of the reads show a pointer, in order. */
async function pointers(store: Store): Promise<boolean[]> {
  const view = await store.getEffectiveHistory(S)
  return view
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .flatMap((part) =>
      part.type === 'tool-result'
        ? ['value' in part.output && /refer to latest read/.test(String(part.output.value))]
        : [],
    )
}

const conversation = (...parts: readonly (NewMessage | NewMessage[])[]): NewMessage[] => [
  say('user', 'go'),
  ...parts.flat(),
  say('assistant', 'done'),
]

export function describeDeduplicate({ open }: Contract): void {
  describe('deduplicate', () => {
    test('an earlier read of the same file points to the latest', async () => {
      const store = await open()
      const ids = await appendAll(
        store,
        conversation(read('a', 'src/a.ts', lines(1, 50)), read('b', 'src/a.ts', lines(1, 50))),
      )
      const before = await standing(store)
      const run = await deduplicate(store)
      expect((await texts(store))[2]).toBe(POINTER)
      expect((await texts(store))[4]).toBe(lines(1, 50))
      expect((await store.getEffectiveHistory(S))[2]).toMatchObject({ id: ids[2], replacedParts: [0] })
      // 400 characters a read: 100 units; the pointer: 44 characters, 11 units. Calls: "read_file" 3,
      // {"path":"src/a.ts"} (19 characters) 5. Text: 1 + 1.
      expect(run!.tokensBefore).toBe(historyTokens(2 + 16 + 200, 6))
      expect(run!.tokensAfter).toBe(historyTokens(2 + 16 + 111, 6))
      expect(run!.stagesUsed).toEqual(['deduplicate'])
      await store.undoCompaction(S, run!.runId)
      expect(await standing(store)).toEqual(before)
    })

    test('the path may be spelled differently', async () => {
      const store = await open()
      await appendAll(
        store,
        conversation(
          read('a', './src//a.ts', lines(1, 50)),
          read('b', 'src\\lib\\..\\a.ts', lines(1, 50)),
          read('c', 'src/a.ts', lines(1, 50)),
        ),
      )
      await deduplicate(store)
      expect(await pointers(store)).toEqual([true, true, false])
    })

    test('other files, other tools and writes are not reads of it', async () => {
      const store = await open()
      await appendAll(
        store,
        conversation(
          read('a', 'src/a.ts', lines(1, 50)),
          read('b', 'src/b.ts', lines(1, 50)),
          read('c', 'src/A.ts', lines(1, 50)),
          read('d', 'src/a.ts', lines(1, 50), {}, 'write_file'),
          read('e', '/src/a.ts', lines(1, 50)),
        ),
      )
      expect(await deduplicate(store)).toMatchObject({ compacted: false, reason: 'NO_PROGRESS' })
    })

    test('a write in between changes nothing: the later read is the truer one', async () => {
      const store = await open()
      await appendAll(
        store,
        conversation(
          read('a', 'src/a.ts', lines(1, 50)),
          read('w', 'src/a.ts', 'ok', { content: 'x' }, 'write_file'),
          read('b', 'src/a.ts', lines(101, 150)),
        ),
      )
      await deduplicate(store)
      expect(await pointers(store)).toEqual([true, false, false])
    })

    test('a later read of fewer lines does not replace one of more', async () => {
      const store = await open()
      await appendAll(
        store,
        conversation(
          read('whole', 'src/a.ts', lines(1, 80)),
          read('first', 'src/a.ts', lines(1, 20), { offset: 1, limit: 20 }),
          read('middle', 'src/a.ts', lines(10, 60), { offset: 10, limit: 51 }),
          read('inner', 'src/a.ts', lines(20, 39), { offset: 20, limit: 20 }),
          read('last', 'src/a.ts', lines(15, 70), { start_line: 15, end_line: 70 }),
        ),
      )
      await deduplicate(store)
      // Only 20–39 lies in 15–70; 10–60 does not, 1–20 lies in nothing that comes later, neither does the whole.
      expect(await pointers(store)).toEqual([false, false, false, true, false])
    })

    test('a read that its tool cut short does not replace the whole file', async () => {
      const store = await open()
      const cut = `${lines(1, 40)}\n[Showing lines 1-40 of 80. Use offset=41 to continue.]`
      await appendAll(store, conversation(read('a', 'src/a.ts', lines(1, 80)), read('b', 'src/a.ts', cut)))
      expect(await deduplicate(store)).toMatchObject({ compacted: false })
    })

    test('a failed later read never is the survivor, a failed earlier one keeps its error', async () => {
      const store = await open()
      await appendAll(
        store,
        conversation(
          call('a', 'read_file', { path: 'src/a.ts' }),
          failure('a', 'E'.repeat(400)),
          read('b', 'src/a.ts', lines(1, 50)),
          read('c', 'src/a.ts', lines(1, 50)),
          call('d', 'read_file', { path: 'src/a.ts' }),
          failure('d', 'F'.repeat(400)),
        ),
      )
      const run = await deduplicate(store)
      expect(await pointers(store)).toEqual([false, true, false, false])
      expect(run!.compactions).toMatchObject([{ kind: 'deduplicate', partsReplaced: 1 }])
    })

    test('parallel reads in one message and one result message are distinguished', async () => {
      const store = await open()
      const two = (text: string): NewMessage => ({
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'x', output: { type: 'text', value: text } },
          { type: 'tool-result', toolCallId: 'y', output: { type: 'text', value: text } },
        ],
      })
      await appendAll(
        store,
        conversation(
          calls(['x', 'read_file', { path: 'src/a.ts' }], ['y', 'read_file', { path: 'src/b.ts' }]),
          two(lines(1, 50)),
          // The same ids again, the other way round.
          calls(['x', 'read_file', { path: 'src/b.ts' }], ['y', 'read_file', { path: 'src/c.ts' }]),
          two(lines(1, 50)),
        ),
      )
      await deduplicate(store)
      expect(await pointers(store)).toEqual([false, true, false, false])
    })

    test('a survivor that was hidden manually does not count', async () => {
      const store = await open()
      const ids = await appendAll(
        store,
        conversation(
          read('a', 'src/a.ts', lines(1, 50)),
          read('b', 'src/a.ts', lines(1, 50)),
          say('user', 'next'),
        ),
      )
      await store.compactions.hide(S, [ids[3]!, ids[4]!])
      expect(await deduplicate(store)).toMatchObject({ compacted: false, reason: 'NO_PROGRESS' })
    })

    test('a read that was pruned neither survives nor is replaced again', async () => {
      const store = await open()
      await appendAll(
        store,
        conversation(read('a', 'src/a.ts', lines(1, 50)), read('b', 'src/a.ts', lines(1, 50))),
      )
      await store.compactSession(S, {
        ...ONLY.prune,
        targetTokens: 0,
        pruneProtectTokens: 0,
        pruneMinimumSavings: 0,
      })
      expect(await deduplicate(store)).toMatchObject({ compacted: false })
    })

    test('pinned reads stay, and may be what the others point to', async () => {
      const store = await open()
      const ids = await appendAll(
        store,
        conversation(
          read('a', 'src/a.ts', lines(1, 50)),
          read('b', 'src/a.ts', lines(1, 50)),
          read('c', 'src/a.ts', lines(1, 50)),
        ),
      )
      await store.messages.pin(S, [ids[2]!, ids[6]!])
      await deduplicate(store)
      expect(await pointers(store)).toEqual([false, true, false])
    })

    test('acts only when 30 % of the re-read files are saved', async () => {
      const store = await open()
      // Candidates: the 3 reads of a.ts. The first has 100 units and saves 100 - 11 = 89, the two others are parts
      // that cover each other in nothing.
      await appendAll(
        store,
        conversation(
          read('a', 'src/a.ts', lines(1, 50), { offset: 1, limit: 50 }),
          read('b', 'src/a.ts', lines(1, 60), { offset: 1, limit: 60 }),
          read('c', 'src/a.ts', lines(61, 130), { offset: 61, limit: 70 }),
        ),
      )
      // 100 + 120 + 140 units; 89 of 360 is 24.7 %.
      expect(await deduplicate(store, { deduplicateMinimumSavings: 0.3 })).toMatchObject({ compacted: false })
      expect(await deduplicate(store, { deduplicateMinimumSavings: 0.248 })).toMatchObject({
        compacted: false,
      })
      expect(await deduplicate(store, { deduplicateMinimumSavings: 0.247 })).toMatchObject({
        compacted: true,
      })
    })

    test('a read not longer than the pointer stays', async () => {
      const store = await open()
      // 44 characters, as the pointer has.
      await appendAll(
        store,
        conversation(read('a', 'src/a.ts', 'x'.repeat(44)), read('b', 'src/a.ts', 'x'.repeat(44))),
      )
      expect(await deduplicate(store)).toMatchObject({ compacted: false })
    })

    test('other names of tools and arguments can be given', async () => {
      const store = await open()
      await appendAll(
        store,
        conversation(
          call('a', 'fetch_doc', { key: 'src/a.ts' }),
          result('a', lines(1, 50)),
          call('b', 'fetch_doc', { key: 'src/a.ts' }),
          result('b', lines(1, 50)),
        ),
      )
      expect(await deduplicate(store)).toMatchObject({ compacted: false })
      await deduplicate(store, { readTools: ['fetch_doc'], pathArguments: ['key'] })
      expect(await pointers(store)).toEqual([true, false])
    })

    test('results whose text names their file are found, prose is not', async () => {
      const store = await open()
      const told = (text: string): string => `Read file src/a.ts\n${text}`
      await appendAll(store, [
        say('user', told(lines(1, 50))),
        say('assistant', told(lines(1, 50))),
        say('user', 'again'),
        call('a', 'shell'),
        result('a', told(lines(1, 50))),
        call('b', 'shell'),
        result('b', told(lines(1, 50))),
        say('assistant', told(lines(1, 50))),
      ])
      expect(await deduplicate(store, { deduplicateByText: false })).toMatchObject({ compacted: false })
      await deduplicate(store)
      const all = await texts(store)
      expect(all[4]).toBe(POINTER)
      expect([all[0], all[1], all[6], all[7]]).toEqual(Array.from({ length: 4 }, () => told(lines(1, 50))))
    })

    test('redo is refused while the survivor is hidden, and works again after', async () => {
      const store = await open()
      const ids = await appendAll(
        store,
        conversation(
          read('a', 'src/a.ts', lines(1, 50)),
          read('b', 'src/a.ts', lines(1, 50)),
          say('user', 'next'),
        ),
      )
      const run = await deduplicate(store)
      const id = run!.compactions[0]!.id
      const after = await standing(store)
      await store.undoCompaction(S, id)
      const hidden = await store.compactions.hide(S, [ids[3]!, ids[4]!])
      const error = await refusal(store.redoCompaction(S, id), 'INPUT_NOT_VISIBLE')
      expect(error.facts.missing).toEqual([ids[4]])
      await store.undoCompaction(S, hidden.id)
      expect(await store.redoCompaction(S, id)).toMatchObject({ changed: true, parts: 1, rows: 0 })
      expect(await standing(store)).toEqual(after)
    })
  })
}
