import { describe, expect, test } from 'vitest'
import { fromAnthropic, toAnthropic } from '../../../src/adapters/anthropic/index.ts'
import { toOpenAI, toOpenAIResponses } from '../../../src/adapters/openai/index.ts'
import { PRUNE_PLACEHOLDER } from '../../../src/compat/arrays/index.ts'
import { type NewMessage, type Part, type Store, validateHistory } from '../../../src/index.ts'
import { storageOf } from '../../support/apply-stage.ts'
import { call, chat, failure, result, say, units } from '../../support/conversation.ts'
import { asRecord } from '../../support/record.ts'
import {
  appendAll,
  type Contract,
  everything,
  fakeModel,
  historyTokens,
  ONLY,
  refusal,
  S,
  shape,
  standing,
} from './support.ts'

/** Anthropic's block: counts as its text. */
const block = (text: string): Part => ({
  type: 'provider',
  provider: 'anthropic',
  data: { type: 'compaction', content: text },
})
/** OpenAI's, which only OpenAI can read. */
const sealed: Part = {
  type: 'provider',
  provider: 'openai',
  data: { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' },
}
const text = (value: string): Part => ({ type: 'text', text: value })
const called = (id: string): Part => ({ type: 'tool-call', toolCallId: id, toolName: 'run', input: {} })
const thought: Part = {
  type: 'reasoning',
  text: units(4, 'r'),
  providerOptions: { anthropic: { signature: 'sig' } },
}
const assistant = (...content: Part[]): NewMessage => ({ role: 'assistant', content })

/** Rules, a request, and a loop in which the provider compacts while a call waits. */
const BEFORE: readonly NewMessage[] = [
  say('system', units(3)),
  say('user', units(5)),
  assistant(thought, called('c1')),
  result('c1', units(6)),
]
const ANSWER = assistant(block(units(7, 's')), text(units(8)), called('c2'))

const tokensOf = async (store: Store): Promise<number> =>
  (await store.getContextStats(S, 'openai'))!.breakdown.conversationHistory

/** Appends past the store, as if the process had died before anything was recorded. */
async function appendOnly(store: Store, messages: readonly NewMessage[]): Promise<string[]> {
  return (await storageOf(store).append(S, messages, undefined)).messages.map(({ id }) => id)
}

export function describeProvider({ open, openBoth, keeps }: Contract): void {
  const sound = async (store: Store): Promise<void> => {
    if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
  }

  describe("a provider's compaction block", () => {
    test('replaces what is before it, and is sent back unchanged [S0-80 S0-83 S0-U20]', async () => {
      const { store, reopen } = await openBoth()
      await appendAll(store, BEFORE)
      const appended = await store.append(S, [ANSWER])
      const recorded = appended.providerCompaction!
      expect(recorded).toMatchObject({ recorded: true, block: 'recorded', edits: [] })
      const [id] = recorded.compactionIds
      const view = await store.getEffectiveHistory(S, { provenance: true })
      expect(view).toMatchObject([
        { kind: 'message', position: 1 },
        {
          kind: 'summary',
          role: 'assistant',
          content: [block(units(7, 's'))],
          condenseId: id,
          positions: [[2, 4]],
        },
        {
          kind: 'message',
          position: 5,
          content: [text(''), text(units(8)), called('c2')],
          replacedParts: [0],
        },
      ])
      expect((await store.getMessages(S)).map(({ condenseParent }) => condenseParent)).toEqual([
        undefined,
        id,
        id,
        id,
        undefined,
        undefined,
      ])
      // Rules, block, words, and a call of `run` with `{}`.
      expect(await tokensOf(store)).toBe(historyTokens(3 + 7 + 8 + 2, 3))
      expect(recorded.tokensAfter).toBe(historyTokens(3 + 7 + 8 + 2, 3))
      expect(recorded.tokensBefore).toBe(historyTokens(3 + 5 + 4 + 2 + 6 + 7 + 8 + 2, 5))
      expect(await store.compactions.get(S, id!)).toMatchObject({
        kind: 'provider',
        status: 'active',
        trigger: 'provider',
        rowsHidden: 3,
        rowsInserted: 1,
        partsReplaced: 1,
      })
      await sound(store)
      if (reopen) expect(await (await reopen()).getEffectiveHistory(S, { provenance: true })).toEqual(view)

      const { messages, mends } = await store.renderHistory(S, {
        provider: 'anthropic',
        pendingCalls: 'keep',
      })
      expect(toAnthropic(messages)).toEqual({
        system: units(3),
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'compaction', content: units(7, 's') },
              { type: 'text', text: units(8) },
              { type: 'tool_use', id: 'c2', name: 'run', input: {} },
            ],
          },
        ],
      })
      expect(mends.map(({ kind }) => kind)).toEqual(['merged'])
      await appendAll(store, [result('c2', 'ok'), say('assistant', 'Done.')])
      const after = await store.renderHistory(S, { provider: 'anthropic' })
      expect(validateHistory(after.messages, 'anthropic')).toEqual([])
    })

    test('is a summary like any other to other providers', async () => {
      const store = await open()
      await appendAll(store, [...BEFORE, ANSWER, result('c2', 'ok')])
      for (const provider of ['openai', 'google-ai', 'mistral', 'bedrock']) {
        const { messages, mends } = await store.renderHistory(S, { provider })
        expect(validateHistory(messages, provider)).toEqual([])
        expect(JSON.stringify(messages)).toContain(JSON.stringify(asRecord(units(7, 's'))).slice(1, -1))
        expect(JSON.stringify(messages)).not.toContain('compaction')
        expect(mends.map(({ kind }) => kind)).not.toContain('block-unreadable')
      }
    })

    test('undone, the originals are sent and the block is not; redone, it is', async () => {
      const store = await open()
      await appendAll(store, BEFORE)
      const { providerCompaction } = await store.append(S, [ANSWER])
      await appendAll(store, [result('c2', units(9))])
      const id = providerCompaction!.compactionIds[0]!
      const compacted = await standing(store)
      await store.undoCompaction(S, id, { actor: 'anna' })
      expect((await store.getEffectiveHistory(S)).map(({ content }) => content)).toEqual(
        [...BEFORE, ANSWER, result('c2', units(9))].map(({ content }) => content),
      )
      await sound(store)
      const { messages, mends } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(validateHistory(messages, 'anthropic')).toEqual([])
      expect(JSON.stringify(messages)).toContain(units(5))
      expect(JSON.stringify(messages)).not.toContain('compaction')
      expect(mends.map(({ kind }) => kind)).toEqual(['block-dropped'])
      const retired = (await store.getMessages(S)).find(({ kind }) => kind === 'summary')
      expect(retired).toMatchObject({ hidden: true, retiredBy: id, condenseId: id })
      // Recording again does not undo the undo.
      const again = await store.compactions.recordProvider(S)
      expect(again).toMatchObject({ recorded: false, block: 'known', compactionIds: [] })
      await store.redoCompaction(S, id)
      expect(await standing(store)).toEqual(compacted)
      await sound(store)
      if (!keeps.audit) return
      expect((await store.sessions.audit(S)).map(({ event }) => event)).toEqual([
        'created',
        'undone',
        'redone',
      ])
    })

    test('that was not recorded is not sent; recording it later works, once', async () => {
      const store = await open()
      await appendAll(store, BEFORE)
      const [id] = await appendOnly(store, [ANSWER])
      await appendAll(store, [result('c2', 'ok'), ...chat(1)])
      const { messages } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(validateHistory(messages, 'anthropic')).toEqual([])
      expect(JSON.stringify(messages)).not.toContain('compaction')
      const first = await store.compactions.recordProvider(S, { messageId: id!, actor: 'me', reason: 'late' })
      expect(first.block).toBe('recorded')
      expect(await store.compactions.get(S, first.compactionIds[0]!)).toMatchObject({
        actor: 'me',
        reason: 'late',
      })
      expect(await shape(store)).toEqual([1, 'summary', 5, 6, 7, 8])
      const state = await everything(store)
      expect(await store.compactions.recordProvider(S)).toMatchObject({ recorded: false, block: 'known' })
      expect(await store.compactions.recordProvider(S, { messageId: id! })).toMatchObject({ block: 'known' })
      expect(await everything(store)).toEqual(state)
    })

    test('two that record it at once make one compaction', async () => {
      const store = await open()
      await appendAll(store, BEFORE)
      await appendOnly(store, [ANSWER])
      const both = await Promise.all([
        store.compactions.recordProvider(S),
        store.compactions.recordProvider(S),
      ])
      expect(both.map(({ block: outcome }) => outcome).sort()).toEqual(['known', 'recorded'])
      expect(await store.listCompactions(S)).toHaveLength(1)
    })
  })

  describe("what a provider's compaction block hides", () => {
    test('leaves pinned messages, and shows them after it', async () => {
      const store = await open()
      const ids = await appendAll(store, BEFORE)
      await store.messages.pin(S, [ids[1]!])
      await store.append(S, [ANSWER])
      expect(await shape(store)).toEqual([1, 2, 'summary', 5])
      await appendAll(store, [result('c2', 'ok')])
      const { messages, mends } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(validateHistory(messages, 'anthropic')).toEqual([])
      expect(
        toAnthropic(messages).messages.map(({ content }) => JSON.stringify(content).slice(0, 30)),
      ).toEqual([
        '[{"type":"compaction","content',
        `"${units(5)}"`,
        expect.stringContaining('[{"type":"text"'),
        expect.stringContaining('[{"type":"tool_result"'),
      ])
      expect(mends).toEqual([{ kind: 'moved-behind-block', messageId: ids[1] }])
      await sound(store)
    })

    test('leaves both halves of a call when one of them is after it', async () => {
      const store = await open()
      await appendAll(store, [say('user', 'a'), call('x', 'run'), say('user', 'b'), say('assistant', 'c')])
      const [holder] = await appendOnly(store, [assistant(block('In short.'), text('d'))])
      await appendAll(store, [result('x', 'late')])
      await store.compactions.recordProvider(S, { messageId: holder! })
      expect(await shape(store)).toEqual([2, 'summary', 5, 6])
      const { messages } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(validateHistory(messages, 'anthropic')).toEqual([])
      expect(toAnthropic(messages).messages[0]).toMatchObject({
        content: [{ type: 'compaction' }, { type: 'tool_use' }],
      })
      await sound(store)
    })

    test('with nothing before it stays in its message and is sent from there', async () => {
      const store = await open()
      const imported = [
        say('system', 'Rules.'),
        assistant(block('So far.'), text('Go on.')),
        say('user', 'Yes.'),
      ]
      const { providerCompaction } = await store.append(S, imported)
      expect(providerCompaction).toMatchObject({ recorded: false, block: 'nothing-before' })
      const native = await store.renderHistory(S, { provider: 'anthropic' })
      expect(native).toMatchObject({ mends: [] })
      expect(native.messages.map(({ content }) => content)).toEqual(imported.map(({ content }) => content))
      expect(validateHistory(native.messages, 'anthropic')).toEqual([])
      const { messages } = await store.renderHistory(S, { provider: 'openai' })
      expect(messages.map(({ content }) => content)).toEqual([
        'Rules.',
        asRecord('So far.'),
        [text('Go on.')],
        'Yes.',
      ])
    })

    test('of several the last one counts', async () => {
      const store = await open()
      await store.append(S, [say('user', 'a'), assistant(block('One.'), text('b')), say('user', 'c')])
      expect(await shape(store)).toEqual(['summary', 2, 3])
      const { providerCompaction } = await store.append(S, [
        assistant(text('early'), block('Two.'), text('d')),
      ])
      expect(providerCompaction).toMatchObject({ recorded: true })
      const view = await store.getEffectiveHistory(S)
      expect(view.map(({ content }) => content)).toEqual([[block('Two.')], [text(''), text(''), text('d')]])
      // The first is beneath the second.
      const [first, second] = await store.listCompactions(S)
      const error = await refusal(store.undoCompaction(S, first!.id), 'HAS_ACTIVE_DEPENDENTS')
      expect(error.facts.dependents).toEqual([second!.id])
      await store.undoCompaction(S, second!.id)
      expect(await shape(store)).toEqual(['summary', 2, 3, 4])
      const { messages } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(toAnthropic(messages).messages[0]).toMatchObject({
        content: [
          { type: 'compaction', content: 'One.' },
          { type: 'text', text: 'b' },
        ],
      })
      await store.undoCompaction(S, first!.id)
      await store.redoCompaction(S, second!.id, { cascade: true })
      expect(await shape(store)).toEqual(['summary', 4])
      await sound(store)
    })

    test('covers a summary of ours, and is covered by one', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const ours = await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'Ours.' })
      await store.append(S, [assistant(block(units(3)), text(units(4)))])
      expect(await shape(store)).toEqual(['summary', 13])
      await refusal(store.undoCompaction(S, ours!.runId), 'HAS_ACTIVE_DEPENDENTS')
      await appendAll(store, chat(3))
      const outer = await store.compactSession(S, { range: { from: 1, to: 15 }, summary: 'All.' })
      expect(outer!.compacted).toBe(true)
      expect(await shape(store)).toEqual(['summary', 16, 17, 18, 19])
      await store.undoCompaction(S, ours!.runId, { cascade: true })
      expect(await shape(store)).toHaveLength(19)
      await sound(store)
    })

    test('is never hidden by a truncation, and a summary of ours includes its text', async () => {
      const store = await open()
      await appendAll(store, chat(4))
      await store.append(S, [assistant(block('The harbour is closed.'), text(units(4)))])
      await appendAll(store, chat(8, 60))
      await store.compactSession(S, { ...ONLY.truncate, targetTokens: 300, emergencyCut: false })
      expect((await shape(store))[0]).toBe('summary')
      await appendAll(store, chat(8, 60))
      const summarizer = fakeModel('Closed still.')
      await store.compactSession(S, { ...ONLY.summarize, targetTokens: 0, keepRecentTokens: 60, summarizer })
      expect(summarizer.requests[0]!.previousSummary).toBe('The harbour is closed.')
      expect((await store.getEffectiveHistory(S))[0]!.content).toBe('Closed still.')
    })

    test('that failed is no block', async () => {
      const store = await open()
      const failed: Part = {
        type: 'provider',
        provider: 'anthropic',
        data: { type: 'compaction', content: null },
      }
      const answer = await store.append(S, [say('user', 'a'), assistant(failed, text('b'))])
      expect(answer).not.toHaveProperty('providerCompaction')
      expect(await store.compactions.recordProvider(S)).toMatchObject({ recorded: false, block: 'none' })
      const { messages } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(toAnthropic(messages).messages[1]).toEqual({
        role: 'assistant',
        content: [
          { type: 'compaction', content: null },
          { type: 'text', text: 'b' },
        ],
      })
    })
  })

  describe("a provider's compaction block in a format", () => {
    test('that is alone in a paused answer', async () => {
      const store = await open()
      await store.append(S, [say('user', 'a'), assistant(block('So far.'))])
      const { messages, mends } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(toAnthropic(messages)).toEqual({
        messages: [{ role: 'assistant', content: [{ type: 'compaction', content: 'So far.' }] }],
      })
      expect(mends).toEqual([])
    })

    test('of OpenAI is an item of its own, and a text that describes it for others', async () => {
      const store = await open()
      await store.append(S, [...chat(2), assistant(sealed), say('assistant', 'Go on.')])
      expect(await shape(store)).toEqual(['summary', 5, 6])
      const { messages, mends } = await store.renderHistory(S, { provider: 'openai' })
      expect(toOpenAIResponses(messages)[0]).toEqual({
        type: 'compaction',
        id: 'cmp_1',
        encrypted_content: 'gAAAA',
      })
      // Chat Completions refuses the item.
      expect(toOpenAI(messages)).toEqual([
        {
          role: 'user',
          content: '[Earlier messages were compacted in a form that only their provider can read]',
        },
        { role: 'assistant', content: 'Go on.' },
      ])
      expect(mends).toEqual([])
      const other = await store.renderHistory(S, { provider: 'anthropic' })
      expect(validateHistory(other.messages, 'anthropic')).toEqual([])
      expect(other.mends.map(({ kind }) => kind)).toEqual(['block-unreadable'])
      expect(JSON.stringify(other.messages)).toContain('in a form that only their provider can read')
    })

    test("in a hidden message, and in a user's message, are reported", async () => {
      const store = await open()
      await appendAll(store, chat(2))
      const [holder] = await appendOnly(store, [assistant(block('x'), text('y'))])
      await store.compactions.hide(S, [holder!])
      expect(await store.compactions.recordProvider(S, { messageId: holder! })).toMatchObject({
        block: 'hidden',
      })
      await refusal(store.compactions.recordProvider(S, { messageId: 'nobody' }), 'MESSAGE_NOT_FOUND')
      await refusal(store.compactions.recordProvider('nobody'), 'SESSION_NOT_FOUND')
      await refusal(store.compactions.recordProvider(S, { message: 'x' } as never), 'INVALID_INPUT')
    })

    test('as Anthropic sends it comes through the converter', async () => {
      const store = await open()
      const wire = [
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: [
            { type: 'compaction', content: 'Greeted.' },
            { type: 'text', text: 'Hi' },
          ],
        },
      ]
      await store.append(S, fromAnthropic(wire))
      const { messages } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(toAnthropic(messages).messages).toEqual([wire[1]])
    })
  })

  describe("a provider's edits", () => {
    const work = (): NewMessage[] => [
      say('user', 'a'),
      assistant(thought, called('c1')),
      result('c1', units(20), 'run'),
      call('c2', 'look'),
      result('c2', units(20), 'look'),
      call('c3', 'run'),
      failure('c3', units(20), 'run'),
      assistant(thought, text('b')),
      say('user', 'c'),
      assistant(thought, called('c4')),
      result('c4', units(20), 'run'),
    ]
    const shownResults = async (store: Store): Promise<string[]> =>
      (await store.getEffectiveHistory(S)).flatMap(({ content }) =>
        typeof content === 'string'
          ? []
          : content.flatMap((part) =>
              part.type === 'tool-result' ? [(part.output as { readonly value: string }).value] : [],
            ),
      )

    test('clear the oldest results, as many as the provider reports, except those of some tools', async () => {
      const store = await open()
      await appendAll(store, work())
      const edit = { type: 'clear_tool_uses_20250919', cleared_tool_uses: 2, cleared_input_tokens: 40 }
      const recorded = await store.compactions.recordProvider(S, {
        appliedEdits: [edit],
        excludeTools: ['look'],
      })
      expect(recorded).toMatchObject({
        recorded: true,
        block: 'none',
        edits: [{ type: edit.type, reported: 2, applied: 2 }],
      })
      const cleared = [PRUNE_PLACEHOLDER, units(20), PRUNE_PLACEHOLDER, units(20)]
      expect(await shownResults(store)).toEqual(cleared)
      const compaction = await store.compactions.get(S, recorded.compactionIds[0]!)
      expect(compaction).toMatchObject({
        kind: 'provider',
        trigger: 'provider',
        partsReplaced: 2,
        rowsHidden: 0,
      })
      await sound(store)
      // The provider is sent placeholders now, and counts them again.
      const more = await store.compactions.recordProvider(S, {
        appliedEdits: [{ ...edit, cleared_tool_uses: 3 }],
        excludeTools: ['look'],
      })
      expect(more).toMatchObject({ recorded: true, edits: [{ reported: 3, applied: 3 }] })
      expect(await shownResults(store)).toEqual([...cleared.slice(0, 3), PRUNE_PLACEHOLDER])
      expect(await store.compactions.recordProvider(S, { appliedEdits: [edit] })).toMatchObject({
        recorded: true,
      })
      await store.undoCompaction(S, recorded.runId!)
      await store.undoCompaction(S, more.runId!)
      expect(await shownResults(store)).toEqual([units(20), PRUNE_PLACEHOLDER, units(20), units(20)])
      await sound(store)
    })

    test('report when there are fewer results than the provider cleared, and leave pinned ones', async () => {
      const store = await open()
      const ids = await appendAll(store, work())
      await store.messages.pin(S, [ids[2]!])
      const recorded = await store.compactions.recordProvider(S, {
        appliedEdits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 9 }],
      })
      expect(recorded.edits).toEqual([{ type: 'clear_tool_uses_20250919', reported: 9, applied: 4 }])
      expect(await shownResults(store)).toEqual([units(20), ...Array(3).fill(PRUNE_PLACEHOLDER)])
    })

    test('clear the reasoning of the oldest turns, never of an open loop', async () => {
      const store = await open()
      await appendAll(store, work())
      const edits = [{ type: 'clear_thinking_20251015', cleared_thinking_turns: 1 }]
      const recorded = await store.compactions.recordProvider(S, { appliedEdits: edits })
      expect(recorded).toMatchObject({ recorded: true, edits: [{ reported: 1, applied: 1 }] })
      const reasoning = async (): Promise<string[]> =>
        (await store.getEffectiveHistory(S)).flatMap(({ content }) =>
          typeof content === 'string'
            ? []
            : content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])),
        )
      expect(await reasoning()).toEqual(['', '', units(4, 'r')])
      await store.compactions.recordProvider(S, { appliedEdits: [{ ...edits[0]!, clearedThinkingTurns: 5 }] })
      const all = [{ type: 'clear_thinking_20251015', cleared_thinking_turns: 5 }]
      expect(await store.compactions.recordProvider(S, { appliedEdits: all })).toMatchObject({
        recorded: false,
        edits: [{ reported: 5, applied: 1 }],
      })
      expect(await reasoning()).toEqual(['', '', units(4, 'r')])
      await store.undoCompaction(S, recorded.runId!)
      expect(await reasoning()).toEqual([units(4, 'r'), units(4, 'r'), units(4, 'r')])
      await sound(store)
    })

    test('and a block come as one run; unknown edits do nothing', async () => {
      const store = await open()
      await appendAll(store, work())
      const [holder] = await appendOnly(store, [assistant(block(units(3)), text('d'))])
      const recorded = await store.compactions.recordProvider(S, {
        messageId: holder!,
        appliedEdits: [
          { type: 'clear_tool_uses_20250919', clearedToolUses: 1 },
          { type: 'compact_20260112', cleared_input_tokens: 9 },
          { type: 'something_new', deep: { er: [1] } },
        ],
      })
      expect(recorded).toMatchObject({
        block: 'recorded',
        edits: [
          { reported: 1, applied: 1 },
          { reported: 0, applied: 0 },
          { reported: 0, applied: 0 },
        ],
      })
      expect(recorded.compactionIds).toHaveLength(2)
      expect(await store.listCompactions(S, { runId: recorded.runId! })).toHaveLength(2)
      expect(await shape(store)).toEqual(['summary', 12])
      await sound(store)
      expect(await store.undoCompaction(S, recorded.runId!)).toMatchObject({
        changed: true,
        rows: 11,
        parts: 2,
      })
      expect(await shownResults(store)).toEqual(Array(4).fill(units(20)))
      await store.redoCompaction(S, recorded.runId!)
      expect(await shape(store)).toEqual(['summary', 12])
      await sound(store)
    })
  })
}
