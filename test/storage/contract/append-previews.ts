import { describe, expect, test } from 'vitest'
import { PRUNE_PLACEHOLDER } from '../../../src/compat/arrays/index.ts'
import { replaceResult } from '../../../src/core/model/plan.ts'
import { type Store, validateHistory } from '../../../src/index.ts'
import { applyPlanned } from '../../support/apply-stage.ts'
import { call, calls, failure, result, say, units } from '../../support/conversation.ts'
import { type Contract, everything, historyTokens, ONLY, refusal, S, standing, texts } from './support.ts'

/** A hundred lines, 999 bytes, 250 units; of eight lines 174 are left, notice and all: 44 units. */
const LOG = Array.from({ length: 100 }, (_, at) => `line ${String(at + 1).padStart(3, '0')}.`).join('\n')
const shownAs = (id: string): string =>
  [
    'line 001.\nline 002.',
    `[... 921 of 999 bytes omitted (92 of 100 lines). Stored in full: getToolOutput of call ${id} ...]`,
    'line 095.\nline 096.\nline 097.\nline 098.\nline 099.\nline 100.',
  ].join('\n')
/** Units of "run" and of "{}". */
const CALL = 2
const TURN = [say('user', units(1)), call('c1', 'run'), result('c1', LOG)]

export function describeAppendPreviews({ open, openBoth, keeps }: Contract): void {
  const withLimit = async (config: object = { maxToolOutputLines: 8 }): Promise<Store> => {
    const store = await open()
    await store.sessions.create({ id: S, config: config as never })
    return store
  }

  describe('large tool outputs', () => {
    test('are shown head and tail from the start, and stored in full', async () => {
      const store = await withLimit()
      const { preview, position } = await store.append(S, TURN)
      expect(position).toBe(3)
      expect((await texts(store))[2]).toBe(shownAs('c1'))
      expect((await store.getMessages(S))[2]).toMatchObject({
        content: [{ output: { value: LOG } }],
        replacedParts: [0],
      })
      expect((await store.messages.toolOutput(S, 'c1')).output).toEqual({ type: 'text', value: LOG })
      const [before, after] = [historyTokens(1 + CALL + 250, 3), historyTokens(1 + CALL + 44, 3)]
      const [compaction, ...more] = await store.listCompactions(S)
      expect(more).toEqual([])
      expect(preview).toEqual({
        compactionId: compaction!.id,
        runId: compaction!.runId,
        parts: 1,
        savedTokens: before - after,
      })
      expect(compaction).toMatchObject({
        kind: 'preview',
        status: 'active',
        trigger: 'auto',
        params: { maxBytes: 51_200, maxLines: 8 },
        ...{ rowsHidden: 0, partsReplaced: 1, rowsInserted: 0, tokensBefore: before, tokensAfter: after },
        replaced: [{ messageId: (await store.getMessages(S))[2]!.id, part: 0 }],
      })
      const stats = (await store.getContextStats(S, 'openai'))!
      expect(stats.breakdown.conversationHistory).toBe(after)
      expect((await store.sessions.get(S)).activeCompactions).toBe(1)
    })

    test('are one compaction of the append, undone and redone byte for byte', async () => {
      const store = await withLimit()
      await store.append(S, TURN)
      const more = [
        calls(['a', 'run'], ['b', 'run']),
        result('b', LOG),
        failure('a', LOG),
        say('assistant', 'x'),
      ]
      const { preview } = await store.append(S, more)
      expect(preview!.parts).toBe(2)
      expect((await texts(store)).slice(4, 6)).toEqual([shownAs('b'), shownAs('a')])
      // A failed one stays a failed one.
      expect((await store.getEffectiveHistory(S))[5]!.content).toMatchObject([
        { output: { type: 'error-text' } },
      ])
      const previewed = await standing(store)
      await store.undoCompaction(S, preview!.compactionId)
      expect((await texts(store)).slice(2, 6)).toEqual([shownAs('c1'), '<tool-call><tool-call>', LOG, LOG])
      await store.redoCompaction(S, preview!.compactionId)
      expect(await standing(store)).toEqual(previewed)
    })

    test('of messages that are known are not previewed again, also when the preview was undone', async () => {
      const store = await withLimit()
      const keyed = TURN.map((message, at) => ({ ...message, idempotencyKey: `k${at}` }))
      const { preview } = await store.append(S, keyed)
      await store.undoCompaction(S, preview!.compactionId)
      const before = await everything(store)
      expect(await store.append(S, keyed)).not.toHaveProperty('preview')
      expect(await store.append(S, keyed, { expectedPosition: 0 })).not.toHaveProperty('preview')
      expect(await everything(store)).toEqual(before)
      // Of a batch only what is new.
      const next = { ...result('c2', LOG), idempotencyKey: 'new' }
      expect((await store.append(S, [...keyed, call('c2', 'run'), next])).preview!.parts).toBe(1)
      expect((await texts(store)).slice(2)).toEqual([LOG, '<tool-call>', shownAs('c2')])
    })

    test('do not move the view epoch: what was planned or measured holds', async () => {
      const store = await withLimit()
      await store.append(S, [
        say('user', units(100)),
        say('assistant', units(100)),
        say('user', 'x'),
        say('assistant', 'x'),
      ])
      const { viewEpoch } = await store.sessions.get(S)
      const range = { from: 1, to: 2 }
      const planned = (await store.previewCompaction(S, { range, summary: 'in short' }))!
      await store.append(S, TURN)
      expect((await store.sessions.get(S)).viewEpoch).toBe(viewEpoch)
      expect((await store.compactSession(S, planned))!.compacted).toBe(true)
    })

    test('are in force with their messages or not at all', async () => {
      const store = await withLimit()
      await store.append(S, [{ ...say('user', 'x'), id: 'taken' }])
      const before = await everything(store)
      await refusal(store.append(S, [...TURN, { ...say('user', 'y'), id: 'taken' }]), 'MESSAGE_ID_TAKEN')
      expect(await everything(store)).toEqual(before)
    })

    test('may be of a batch that still waits for another result', async () => {
      const store = await withLimit()
      await store.append(S, [say('user', 'x'), calls(['a', 'run'], ['b', 'run'])])
      const { preview } = await store.append(S, [result('a', LOG)])
      expect((await texts(store))[2]).toBe(shownAs('a'))
      await store.undoCompaction(S, preview!.compactionId)
      await store.redoCompaction(S, preview!.compactionId)
      expect((await texts(store))[2]).toBe(shownAs('a'))
    })

    test('is what law 4 allows only a preview, and law 3 no compaction', async () => {
      const store = await withLimit()
      await store.append(S, [say('user', 'x'), calls(['a', 'run'], ['b', 'run'])])
      await store.append(S, [result('a', LOG)], { previewToolOutputs: false })
      const over = (kind: 'preview' | 'prune') =>
        applyPlanned(store, S, ({ rows }) => ({
          ...{ kind, hide: [], requires: [], params: {} },
          replace: [replaceResult(rows[2]!, rows[2]!.results[0]!, 'short', 2)],
        }))
      await refusal(over('prune'), 'PENDING_TOOL_CALLS')
      const id = await over('preview')
      await store.undoCompaction(S, id)
      await store.messages.pin(S, [(await store.getMessages(S))[2]!.id])
      await refusal(over('preview'), 'ILLEGAL_BOUNDARY')
      await refusal(store.redoCompaction(S, id), 'INPUT_NOT_VISIBLE')
    })

    test('are rendered as valid histories', async () => {
      const store = await withLimit()
      const content = [{ type: 'json' as const, value: { log: LOG } }].map((output) => ({
        ...{ type: 'tool-result' as const, toolCallId: 'b', output },
      }))
      await store.append(S, [...TURN, calls(['a', 'run'], ['b', 'run']), failure('a', LOG)])
      await store.append(S, [{ role: 'user', content }, say('assistant', 'Done.')])
      for (const provider of ['anthropic', 'openai', 'google', 'mistral']) {
        const { messages } = await store.renderHistory(S, { provider })
        expect(validateHistory(messages, provider)).toEqual([])
        expect(JSON.stringify(messages)).toContain('Stored in full')
      }
      const [one] = await store.messages.toolCalls(S)
      expect(one).toMatchObject({ shown: 'replaced', status: 'ok' })
    })

    test.each([
      ['the call', {}, { previewToolOutputs: false }],
      ['the session', { previewToolOutputs: false }, {}],
      ['auto: false, for nothing runs unasked', { auto: false }, {}],
      ['enabled: false', { enabled: false }, {}],
      ['enabled: false, whatever the call asks', { enabled: false }, { previewToolOutputs: true }],
    ])('are shown whole when %s is set so', async (_, config, options) => {
      const store = await withLimit({ maxToolOutputLines: 8, ...config })
      expect(await store.append(S, TURN, options)).not.toHaveProperty('preview')
      expect((await texts(store))[2]).toBe(LOG)
      expect(await store.listCompactions(S)).toEqual([])
    })

    test('are previewed or not: another answer is refused', async () => {
      const store = await withLimit()
      const options = { previewToolOutputs: 'no' } as never
      await refusal(store.append(S, TURN, options), 'INVALID_INPUT')
      await refusal(store.sessions.update(S, { config: options }), 'INVALID_INPUT')
      expect((await store.sessions.get(S)).messageCount).toBe(0)
    })

    test('are previewed under auto: false when the call asks for it', async () => {
      const store = await withLimit({ maxToolOutputLines: 8, auto: false, previewToolOutputs: false })
      const { preview } = await store.append(S, TURN, { previewToolOutputs: true })
      expect(await store.compactions.get(S, preview!.compactionId)).toMatchObject({ trigger: 'manual' })
    })

    test('by the limits of the store where a session has none, also for a session that the append creates', async () => {
      const store = await open()
      const large = Array.from({ length: 3_000 }, () => 'xxxx').join('\n')
      const { preview } = await store.append('new', [
        say('user', 'x'),
        call('c1', 'run'),
        result('c1', large),
      ])
      expect(preview!.parts).toBe(1)
      expect((await texts(store, 'new'))[2]!.split('\n')).toHaveLength(2_001)
      await store.sessions.create({ id: 'own', config: { maxToolOutputLines: 3_000 } })
      expect(
        await store.append('own', [say('user', 'x'), call('c1', 'run'), result('c1', large)]),
      ).not.toHaveProperty('preview')
    })

    test('go the way of all outputs: pruned, the preview is what an undo shows', async () => {
      const store = await withLimit()
      await store.append(S, [...TURN, say('assistant', units(1))])
      const prune = { ...ONLY.prune, targetTokens: 0, pruneProtectTokens: 0, pruneMinimumSavings: 0 }
      const run = (await store.compactSession(S, prune))!
      expect((await texts(store))[2]).toBe(PRUNE_PLACEHOLDER)
      // The preview's 44 units go, and 6 of the placeholder come.
      expect(run.tokensBefore).toBe(historyTokens(2 + CALL + 44, 4))
      expect(run.tokensAfter).toBe(historyTokens(2 + CALL + 6, 4))
      const [preview] = await store.listCompactions(S)
      const pruned = await standing(store)
      await store.undoCompaction(S, preview!.id)
      expect((await texts(store))[2]).toBe(PRUNE_PLACEHOLDER)
      await store.redoCompaction(S, preview!.id)
      expect(await standing(store)).toEqual(pruned)
      await store.undoCompaction(S, run.runId)
      expect((await texts(store))[2]).toBe(shownAs('c1'))
      await store.undoCompaction(S, preview!.id)
      expect((await texts(store))[2]).toBe(LOG)
    })

    test('are protected and counted by prune as they are shown', async () => {
      const store = await withLimit()
      await store.append(S, [...TURN, call('c2', 'run'), result('c2', LOG), say('assistant', units(1))])
      // A preview has 44 units: 51 tokens. With 51 protected the newest alone stays, with 52 both.
      const prune = { ...ONLY.prune, targetTokens: 0, pruneMinimumSavings: 0 }
      const preview = async (pruneProtectTokens: number): Promise<number | undefined> =>
        (await store.previewCompaction(S, { ...prune, pruneProtectTokens }))?.compactions[0]?.replaces.length
      expect([await preview(0), await preview(51), await preview(52)]).toEqual([2, 1, undefined])
    })

    test('are cleared by clear_tool_results and by what a provider cleared', async () => {
      for (const clear of [
        (store: Store) =>
          store.compactSession(S, {
            stages: [{ stage: 'clear_tool_results', keep: 0, placeholder: '-' }],
            targetTokens: 0,
          }),
        (store: Store) =>
          store.compactions.recordProvider(S, {
            appliedEdits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 1 }],
          }),
      ]) {
        const store = await withLimit()
        await store.append(S, [...TURN, say('assistant', units(1))])
        await clear(store)
        expect((await texts(store))[2]).not.toContain('line')
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      }
    })

    test('may be hidden beneath a summary while their preview is undone', async () => {
      const store = await withLimit()
      const { preview } = await store.append(S, [...TURN, say('assistant', units(1)), say('user', 'and')])
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'in short' })
      await store.undoCompaction(S, preview!.compactionId)
      const shown = await texts(store)
      expect(shown).toHaveLength(2)
      const [summary] = await store.getEffectiveHistory(S)
      const children = (await store.messages.expand(S, summary!.id)).children!
      expect(JSON.stringify(children)).toContain('line 050')
      await store.undoCompaction(S, (await store.listCompactions(S)).at(-1)!.id)
      expect((await texts(store))[2]).toBe(LOG)
    })

    test('stay previewed when the session moves to a larger window, unless previews are named', async () => {
      const store = await withLimit()
      const { preview } = await store.append(S, TURN)
      expect((await store.undoCompaction(S, { ifFits: {} })).changed).toBe(false)
      expect((await store.undoCompaction(S, { ifFits: { kinds: ['preview'] } })).compactionIds).toEqual([
        preview!.compactionId,
      ])
    })

    test('are in the audit, in order, and purged with the session', async () => {
      const { store, reopen } = await openBoth()
      await store.sessions.create({ id: S, config: { maxToolOutputLines: 8 } })
      const { preview } = await store.append(S, TURN)
      if (keeps.audit) {
        const [entry] = await store.sessions.audit(S)
        expect(entry).toMatchObject({
          event: 'created',
          compactionId: preview!.compactionId,
          runId: preview!.runId,
          detail: { kind: 'preview', rows: 0, parts: 1 },
        })
      }
      const again = (await reopen?.()) ?? store
      expect((await texts(again))[2]).toBe(shownAs('c1'))
      if (keeps.verify) expect((await again.sessions.verify(S)).findings).toEqual([])
      expect(await again.sessions.purge(S)).toMatchObject({ messages: 3, compactions: 1 })
    })
  })
}
