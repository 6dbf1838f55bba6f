import { describe, expect, test } from 'vitest'
import type { CompactionResult } from '../../../src/index.ts'
import { CompactionPreview } from '../../../src/store/compaction/result.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'
import {
  appendAll,
  type Contract,
  everything,
  fakeModel,
  ONLY,
  refusal,
  S,
  shape,
  standing,
  texts,
} from './support.ts'

/** A conversation in which all four stages find something. */
const BUSY = [
  say('user', `start ${units(20)}`),
  ...Array.from({ length: 8 }, (_, at) => [
    say('user', `question ${at} ${units(20)}`),
    call(`r${at}`, 'read_file', { path: `src/${at % 3}.ts` }),
    result(`r${at}`, units(200)),
    say('assistant', units(20)),
  ]).flat(),
]

/** What a preview and the run it becomes must agree on. */
function common(one: CompactionPreview | CompactionResult): unknown {
  const { compacted, stagesUsed, tokensBefore, tokensAfter, tokensSaved, messages } = one
  const { targetTokens, reachedTarget, fits, reason } = one
  const compactions = one.compactions.map(
    ({ id, kind, rowsHidden, partsReplaced, rowsInserted, tokensBefore, tokensAfter }) => ({
      id,
      kind,
      rowsHidden,
      partsReplaced,
      rowsInserted,
      tokensBefore,
      tokensAfter,
    }),
  )
  return {
    compacted,
    stagesUsed,
    tokensBefore,
    tokensAfter,
    tokensSaved,
    messages,
    targetTokens,
    reachedTarget,
    fits,
    reason,
    compactions,
  }
}

export function describePreview({ open, openBoth, keeps }: Contract): void {
  describe('preview', () => {
    const configs = {
      prune: { ...ONLY.prune, targetTokens: 0, pruneProtectTokens: 300, pruneMinimumSavings: 0 },
      deduplicate: { ...ONLY.deduplicate, targetTokens: 0 },
      summarize: { ...ONLY.summarize, targetTokens: 0, keepRecentTokens: 300 },
      truncate: { ...ONLY.truncate, targetTokens: 900 },
      'all stages': { targetTokens: 300, pruneProtectTokens: 300, pruneMinimumSavings: 0 },
      'the emergency cut': { maxOutputTokens: 127_800, targetTokens: 0, truncationMarker: false },
      nothing: { targetTokens: 1_000_000 },
    } as const

    for (const [name, config] of Object.entries(configs)) {
      test(`of ${name} writes nothing, and applying it gives exactly that`, async () => {
        const store = await open()
        await appendAll(store, BUSY)
        const before = await everything(store)
        const { version } = await store.sessions.get(S)
        const preview = await store.previewCompaction(S, config)
        expect(preview!.compacted).toBe(name !== 'nothing')
        expect(await everything(store)).toEqual(before)
        expect((await store.sessions.get(S)).version).toBe(version)
        expect(await store.sessions.audit(S)).toEqual([])
        const applied = await store.compactSession(S, preview!)
        expect(common(applied!)).toEqual(common(preview!))
        expect(await store.getEffectiveHistory(S)).toEqual(preview!.messages)
        expect((await store.getContextStats(S))!.breakdown.conversationHistory).toBe(preview!.tokensAfter)
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      })

      test(`of ${name} returns what compactSession does`, async () => {
        const store = await open()
        await appendAll(store, BUSY)
        const preview = await store.previewCompaction(S, config)
        const run = await store.compactSession(S, config)
        const withoutIds = (one: unknown): unknown =>
          JSON.parse(
            JSON.stringify(one, (key, value: unknown) =>
              ['id', 'condenseId', 'truncationId', 'createdAt'].includes(key) ? undefined : value,
            ),
          )
        expect(withoutIds(common(run!))).toEqual(withoutIds(common(preview!)))
      })
    }

    test('names the rows it would hide and the texts it would show', async () => {
      const store = await open()
      const ids = await appendAll(store, BUSY)
      const preview = await store.previewCompaction(S, configs.prune)
      const [planned] = preview!.compactions
      expect(planned!.hides).toEqual([])
      expect(planned!.replaces[0]).toEqual({ messageId: ids[3], part: 0, text: '[Tool result cleared]' })
      const cutOff = await store.previewCompaction(S, configs.truncate)
      expect(cutOff!.compactions[0]!.inserts).toMatchObject({ kind: 'marker' })
      expect(cutOff!.firstChanged).toMatchObject({ messageId: cutOff!.compactions[0]!.hides[0] })
    })

    test('null for a session without messages and for an unknown one', async () => {
      const store = await open()
      await store.sessions.create({ id: S })
      expect(await store.previewCompaction(S)).toBeNull()
      expect(await store.previewCompaction('unknown')).toBeNull()
    })

    test('what was appended since stays visible and is no reason to refuse', async () => {
      const store = await open()
      await appendAll(store, BUSY)
      const preview = await store.previewCompaction(S, configs.truncate)
      await appendAll(store, [say('user', 'one more thing')])
      const run = await store.compactSession(S, preview!)
      expect(run!.compacted).toBe(true)
      expect((await texts(store)).at(-1)).toBe('one more thing')
      expect(run!.messages).toEqual(await store.getEffectiveHistory(S))
      expect(run!.messages.slice(0, -1)).toEqual(preview!.messages)
    })

    test('a late result for a call within the session is appended too, and no reason to refuse', async () => {
      for (const pinned of [false, true]) {
        const store = await open()
        const ids = await appendAll(store, [
          say('user', units(20)),
          call('a', 'run'),
          say('user', 'never mind'),
          say('assistant', units(20)),
          ...chat(3),
        ])
        const preview = await store.previewCompaction(S, { range: { from: 1, to: 4 }, summary: 'x' })
        await appendAll(store, [result('a', 'late')])
        // A change elsewhere makes the plan be checked again; the answer must be the same.
        if (pinned) await store.messages.pin(S, [ids[9]!])
        await store.compactSession(S, preview!)
        expect(await shape(store)).toEqual(['summary', 5, 6, 7, 8, 9, 10, 11])
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      }
    })

    test('a change of a covered row makes it stale, and nothing is changed', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(8))
      const config = { range: { from: 3, to: 8 }, summary: 'In short.' }
      const changes: Record<string, () => Promise<unknown>> = {
        pinned: () => store.messages.pin(S, [ids[4]!]),
        hidden: () => store.compactions.hide(S, [ids[4]!]),
        condensed: () => store.compactSession(S, { range: { from: 5, to: 8 }, summary: 'x' }),
      }
      for (const [name, change] of Object.entries(changes)) {
        const preview = await store.previewCompaction(S, config)
        await change()
        const before = await everything(store)
        const error = await refusal(store.compactSession(S, preview!), 'STALE_PLAN')
        expect(error.facts.messageIds, name).toContain(ids[4])
        expect(await everything(store), name).toEqual(before)
        await store.messages.unpin(S, [ids[4]!])
        for (const { id, status } of await store.listCompactions(S))
          if (status === 'active') await store.undoCompaction(S, id)
      }
    })

    test('something that came to light within its span makes it stale', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(8))
      const hidden = await store.compactions.hide(S, [ids[4]!, ids[5]!])
      const preview = await store.previewCompaction(S, { range: { from: 3, to: 8 }, summary: 'In short.' })
      await store.undoCompaction(S, hidden.id)
      const error = await refusal(store.compactSession(S, preview!), 'STALE_PLAN')
      expect(error.facts.messageIds).toEqual([ids[4], ids[5]])
    })

    test('a change elsewhere is no reason to refuse', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(8))
      const preview = await store.previewCompaction(S, { range: { from: 3, to: 8 }, summary: 'In short.' })
      await store.messages.pin(S, [ids[0]!])
      await store.compactions.hide(S, [ids[12]!, ids[13]!])
      await store.sessions.update(S, { model: 'gpt-4' })
      await store.compactSession(S, preview!)
      expect(await shape(store)).toEqual([1, 2, 'summary', 9, 10, 11, 12, 15, 16])
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('rows that others inserted meanwhile do not disturb it', async () => {
      const store = await open()
      await appendAll(store, chat(12))
      const preview = await store.previewCompaction(S, {
        ...ONLY.truncate,
        enableSummarize: true,
        targetTokens: 120,
        keepRecentTokens: 40,
        range: undefined,
        summarizer: fakeModel('x'),
        summarize: true,
      })
      await store.compactSession(S, { range: { from: 23, to: 24 }, summary: 'x' })
      await store.compactSession(S, preview!).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'STALE_PLAN' })
      })
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('cannot be applied twice', async () => {
      for (const config of [configs.prune, configs.summarize, configs.truncate, configs['all stages']]) {
        const store = await open()
        await appendAll(store, BUSY)
        const preview = await store.previewCompaction(S, config)
        await store.compactSession(S, preview!)
        const before = await everything(store)
        await refusal(store.compactSession(S, preview!), 'STALE_PLAN')
        expect(await everything(store)).toEqual(before)
      }
    })

    test('applied, undone and applied again it either works whole or is refused', async () => {
      for (const config of [configs.prune, configs.summarize, configs.truncate, configs['all stages']]) {
        const store = await open()
        await appendAll(store, BUSY)
        const original = await standing(store)
        const preview = await store.previewCompaction(S, config)
        const first = await store.compactSession(S, preview!)
        await store.undoCompaction(S, first!.runId)
        let second: CompactionResult | null | undefined
        try {
          second = await store.compactSession(S, preview!)
        } catch (error) {
          expect(error).toMatchObject({ name: 'UndertextError', code: 'STALE_PLAN' })
        }
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
        if (second) await store.undoCompaction(S, second.runId)
        expect(await standing(store)).toEqual(original)
      }
    })

    test('of another session or another store is refused', async () => {
      const store = await open()
      await appendAll(store, BUSY)
      await appendAll(store, BUSY, 'other')
      const preview = await store.previewCompaction(S, configs.truncate)
      await refusal(store.compactSession('other', preview!), 'INVALID_INPUT')
      const elsewhere = await open()
      await appendAll(elsewhere, BUSY)
      await refusal(elsewhere.compactSession(S, preview!), 'STALE_PLAN')
      const imitation = Object.assign(
        Object.create(CompactionPreview.prototype),
        preview,
      ) as CompactionPreview
      await refusal(store.compactSession(S, imitation), 'INVALID_INPUT')
      const copy = JSON.parse(JSON.stringify(preview)) as CompactionPreview
      await refusal(store.compactSession(S, copy), 'INVALID_INPUT')
    })

    test('of a purged and recreated session is refused', async () => {
      const store = await open()
      await appendAll(store, BUSY)
      const preview = await store.previewCompaction(S, configs.truncate)
      await store.sessions.purge(S)
      await refusal(store.compactSession(S, preview!), 'STALE_PLAN')
      await appendAll(store, BUSY)
      const before = await everything(store)
      await refusal(store.compactSession(S, preview!), 'STALE_PLAN')
      expect(await everything(store)).toEqual(before)
    })

    test('applies in another store object on the same data', async () => {
      const { store, reopen } = await openBoth()
      if (reopen === undefined) return
      await appendAll(store, BUSY)
      const preview = await store.previewCompaction(S, configs['all stages'])
      const second = await reopen()
      const run = await second.compactSession(S, preview!)
      expect(run!.messages).toEqual(preview!.messages)
      expect(await store.getEffectiveHistory(S)).toEqual(preview!.messages)
    })
  })

  describe('preview of a summary by a model', () => {
    const config = { ...ONLY.summarize, targetTokens: 0, keepRecentTokens: 300, summaryMaxTokens: 100 }

    test('does not call it, and shows what it would be asked and an upper bound', async () => {
      const store = await open()
      await appendAll(store, BUSY)
      const summarizer = fakeModel('Short.')
      const preview = await store.previewCompaction(S, { ...config, summarizer })
      expect(summarizer.requests).toHaveLength(0)
      expect(preview!.summaryPending).toHaveLength(1)
      const [pending] = preview!.summaryPending!
      expect(pending).toMatchObject({ summarizer: 'fake', maxTokens: 100 })
      expect(pending!.messages.map(({ content }) => content)).toEqual(
        BUSY.slice(0, pending!.messages.length).map(({ content }) =>
          typeof content === 'string' ? [{ type: 'text', text: content }] : content,
        ),
      )
      const run = await store.compactSession(S, preview!)
      expect(summarizer.requests).toHaveLength(1)
      expect(run!.tokensAfter).toBeLessThanOrEqual(preview!.tokensAfter)
      expect(run!.stagesUsed).toEqual(preview!.stagesUsed)
    })

    test('calls it when asked to, and applying uses that very text', async () => {
      const store = await open()
      await appendAll(store, BUSY)
      const summarizer = fakeModel('Short.', { cost: 0.25, model: 'big-1' })
      const preview = await store.previewCompaction(S, { ...config, summarizer, summarize: true })
      expect(summarizer.requests).toHaveLength(1)
      expect(preview!.summaryPending).toBeUndefined()
      expect(preview!.compactions[0]!.inserts).toMatchObject({ kind: 'summary' })
      expect(preview!.compactions[0]!.inserts!.text.startsWith('Short.')).toBe(true)
      expect((await store.getContextStats(S))!.activeCompactions).toBe(0)
      if (keeps.audit) {
        expect(await store.listCompactions(S)).toMatchObject([
          { status: 'aborted', error: 'PREVIEWED', cost: 0.25, model: 'big-1', rowsInserted: 0 },
        ])
      }
      const run = await store.compactSession(S, preview!)
      expect(summarizer.requests).toHaveLength(1)
      expect(common(run!)).toEqual(common(preview!))
      expect(await store.getEffectiveHistory(S)).toEqual(preview!.messages)
    })

    test('once applied it belongs to the run that applied it', async () => {
      const store = await open()
      await appendAll(store, BUSY)
      const before = await standing(store)
      const summarizer = fakeModel('Short.')
      const preview = await store.previewCompaction(S, {
        ...config,
        enablePrune: true,
        pruneProtectTokens: 300,
        pruneMinimumSavings: 0,
        summarizer,
        summarize: true,
        actor: 'anna',
        reason: 'full',
      })
      const run = await store.compactSession(S, preview!)
      expect(run!.compactions.map(({ kind }) => kind)).toEqual(['prune', 'condense'])
      const members = await store.listCompactions(S, { runId: run!.runId })
      expect(members.map(({ kind, status, actor }) => [kind, status, actor])).toEqual([
        ['prune', 'active', 'anna'],
        ['condense', 'active', 'anna'],
      ])
      await store.undoCompaction(S, run!.runId)
      expect(await standing(store)).toEqual(before)
    })
  })
}
