import { describe, expect, test } from 'vitest'
import type { CompactionConfig, Store } from '../../../src/index.ts'
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

/** Condenses a range with a given text; answers the compaction's id. */
async function condense(store: Store, from: number, to: number, summary = 'In short.'): Promise<string> {
  const run = await store.compactSession(S, { range: { from, to }, summary })
  expect(run!.compacted).toBe(true)
  return run!.compactions[0]!.id
}

const prune: CompactionConfig = {
  ...ONLY.prune,
  targetTokens: 0,
  pruneProtectTokens: 0,
  pruneMinimumSavings: 0,
}

export function describeUndo({ open, openBoth, keeps }: Contract): void {
  describe('undo and redo', () => {
    test('a compaction comes off and goes back on, byte for byte', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const before = await standing(store)
      const id = await condense(store, 3, 8)
      const after = await standing(store)
      expect(await store.undoCompaction(S, id)).toEqual({
        changed: true,
        compactionIds: [id],
        rows: 6,
        parts: 0,
      })
      expect(await standing(store)).toEqual(before)
      expect((await store.compactions.get(S, id)).status).toBe('undone')
      const summary = (await store.getMessages(S)).find(({ kind }) => kind === 'summary')
      expect(summary).toMatchObject({ hidden: true, retiredBy: id, condenseId: id })
      expect(await store.redoCompaction(S, id)).toEqual({
        changed: true,
        compactionIds: [id],
        rows: 6,
        parts: 0,
      })
      expect(await standing(store)).toEqual(after)
      expect((await store.compactions.get(S, id)).status).toBe('active')
    })

    test('a second undo and a second redo report it and write nothing', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const id = await condense(store, 3, 8)
      const nothing = { changed: false, compactionIds: [], rows: 0, parts: 0 }
      const active = await everything(store)
      expect(await store.redoCompaction(S, id)).toEqual(nothing)
      expect(await everything(store)).toEqual(active)
      await store.undoCompaction(S, id)
      const undone = await everything(store)
      const { version } = await store.sessions.get(S)
      const audit = await store.sessions.audit(S)
      expect(await store.undoCompaction(S, id, { cascade: true, actor: 'me', reason: 'why' })).toEqual(
        nothing,
      )
      expect(await everything(store)).toEqual(undone)
      expect((await store.sessions.get(S)).version).toBe(version)
      expect(await store.sessions.audit(S)).toEqual(audit)
    })

    test('what is not there is not found', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const id = await condense(store, 3, 8)
      await store.append('other', chat(6))
      for (const verb of ['undoCompaction', 'redoCompaction'] as const) {
        await refusal(store[verb](S, 'nothing'), 'COMPACTION_NOT_FOUND')
        await refusal(store[verb]('other', id), 'COMPACTION_NOT_FOUND')
        await refusal(store[verb]('nobody', id), 'SESSION_NOT_FOUND')
      }
    })

    test('an inner compaction is undone only with the outer one, newest first', async () => {
      const store = await open()
      await appendAll(store, chat(8))
      const before = await standing(store)
      const inner = await condense(store, 3, 6, 'Inner.')
      const middle = await condense(store, 1, 8, 'Middle.')
      const outer = await condense(store, 1, 12, 'Outer.')
      expect(await shape(store)).toEqual(['summary', 13, 14, 15, 16])
      const state = await everything(store)
      const error = await refusal(store.undoCompaction(S, inner), 'HAS_ACTIVE_DEPENDENTS')
      expect(error.facts.dependents).toEqual([outer, middle])
      expect(await everything(store)).toEqual(state)
      expect(await store.undoCompaction(S, inner, { cascade: true })).toMatchObject({
        changed: true,
        compactionIds: [outer, middle, inner],
      })
      expect(await standing(store)).toEqual(before)
      // The outer one covers the summary of the middle one, which is not in force now.
      await refusal(store.redoCompaction(S, outer), 'INPUT_NOT_VISIBLE')
      expect(await store.redoCompaction(S, outer, { cascade: true })).toMatchObject({
        compactionIds: [inner, middle, outer],
      })
      expect(await everything(store)).toMatchObject({ view: (state as { view: unknown }).view })
    })

    test('the outer one alone comes off to what was before', async () => {
      const store = await open()
      await appendAll(store, chat(8))
      await condense(store, 3, 6, 'Inner.')
      const before = await standing(store)
      const outer = await condense(store, 1, 10, 'Outer.')
      await store.undoCompaction(S, outer)
      expect(await standing(store)).toEqual(before)
    })

    test('compactions beside each other come off in any order', async () => {
      const store = await open()
      await appendAll(store, chat(8))
      const first = await condense(store, 1, 4, 'First.')
      const second = await condense(store, 5, 8, 'Second.')
      await store.undoCompaction(S, first)
      expect(await shape(store)).toEqual([1, 2, 3, 4, 'summary', 9, 10, 11, 12, 13, 14, 15, 16])
      await store.undoCompaction(S, second)
      await store.redoCompaction(S, first)
      expect(await shape(store)).toEqual(['summary', 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
    })
  })

  describe('undo and redo of a run', () => {
    test('a run comes off and goes back whole', async () => {
      const store = await open()
      const loops = Array.from({ length: 4 }, (_, at) => [
        say('user', `question ${at} ${units(20)}`),
        call(`c${at}`, 'run'),
        result(`c${at}`, units(100)),
        say('assistant', units(20)),
      ]).flat()
      await appendAll(store, loops)
      const before = await standing(store)
      const run = await store.compactSession(S, {
        targetTokens: 150,
        pruneProtectTokens: 0,
        pruneMinimumSavings: 0,
        keepRecentTokens: 60,
        summarizer: fakeModel(),
      })
      expect(run!.compactions.map(({ kind }) => kind)).toEqual(['prune', 'condense'])
      const after = await standing(store)
      const ids = run!.compactions.map(({ id }) => id)
      expect((await store.listCompactions(S, { runId: run!.runId })).map(({ id }) => id).sort()).toEqual(
        [...ids].sort(),
      )
      expect(await store.undoCompaction(S, run!.runId)).toMatchObject({ changed: true })
      expect(await standing(store)).toEqual(before)
      expect(await store.redoCompaction(S, run!.runId)).toMatchObject({ changed: true })
      expect(await standing(store)).toEqual(after)
    })

    test('compactions of a run are in the audit in the order they were made', async () => {
      const store = await open()
      await appendAll(store, [
        ...Array.from({ length: 4 }, (_, at) => [
          say('user', `question ${at} ${units(20)}`),
          call(`c${at}`, 'run'),
          result(`c${at}`, units(100)),
        ]).flat(),
        say('assistant', 'done'),
      ])
      const run = await store.compactSession(S, {
        targetTokens: 150,
        pruneProtectTokens: 0,
        pruneMinimumSavings: 0,
        keepRecentTokens: 60,
        summarizer: fakeModel(),
      })
      const listed = (await store.listCompactions(S)).map(({ kind }) => kind)
      expect(listed).toEqual(run!.compactions.map(({ kind }) => kind))
      const { compactionIds } = await store.undoCompaction(S, run!.runId)
      expect(compactionIds, 'newest first').toEqual(run!.compactions.map(({ id }) => id).reverse())
    })

    test('redoing a run redoes exactly those that its undo undid', async () => {
      const store = await open()
      await appendAll(store, chat(8, 100))
      const ids = (await store.getMessages(S)).map(({ id }) => id)
      await store.messages.pin(S, [ids[6]!])
      const run = await store.compactSession(S, {
        ...ONLY.summarize,
        targetTokens: 0,
        keepRecentTokens: 240,
        summarizer: fakeModel(),
      })
      const [first, second] = run!.compactions.map(({ id }) => id)
      await store.undoCompaction(S, first!)
      const partly = await standing(store)
      expect(await store.undoCompaction(S, run!.runId)).toMatchObject({ compactionIds: [second] })
      expect(await store.redoCompaction(S, run!.runId)).toMatchObject({ compactionIds: [second] })
      expect(await standing(store)).toEqual(partly)
      expect((await store.compactions.get(S, first!)).status).toBe('undone')
    })

    test('a run is undone all or none', async () => {
      const store = await open()
      await appendAll(store, chat(8, 100))
      const ids = (await store.getMessages(S)).map(({ id }) => id)
      await store.messages.pin(S, [ids[6]!])
      const run = await store.compactSession(S, {
        ...ONLY.summarize,
        targetTokens: 0,
        keepRecentTokens: 240,
        summarizer: fakeModel(),
      })
      await store.messages.unpin(S, [ids[6]!])
      const outer = await condense(store, 7, 14, 'Over the second.')
      const state = await everything(store)
      const error = await refusal(store.undoCompaction(S, run!.runId), 'HAS_ACTIVE_DEPENDENTS')
      expect(error.facts.dependents).toEqual([outer])
      expect(await everything(store)).toEqual(state)
      await store.undoCompaction(S, run!.runId, { cascade: true })
      expect(await shape(store)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1))
    })
  })

  describe('undo and redo of compactions that depend on each other', () => {
    test('a replacement under a live condensation may be undone: the original shows when that goes', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'go'),
        call('a', 'run'),
        result('a', units(100, 'r')),
        say('assistant', units(40)),
        ...chat(2),
      ])
      const before = await standing(store)
      const pruned = await store.compactSession(S, prune)
      const condensed = await condense(store, 1, 4)
      const short = await standing(store)
      expect(await store.undoCompaction(S, pruned!.runId)).toMatchObject({ changed: true, parts: 1 })
      expect(await shape(store)).toEqual(['summary', 5, 6, 7, 8])
      // Only the number of compactions in force tells.
      expect(await standing(store)).toMatchObject({ view: (short as { view: unknown }).view })
      await store.undoCompaction(S, condensed)
      expect(await standing(store)).toEqual(before)
      await store.redoCompaction(S, condensed)
      // And redone beneath a live condensation.
      expect(await store.redoCompaction(S, pruned!.runId)).toMatchObject({ changed: true, parts: 1 })
      expect(await standing(store)).toEqual(short)
      await store.undoCompaction(S, condensed)
      expect((await texts(store))[2]).toBe('[Tool result cleared]')
    })

    test('redo is refused when a covered message was pinned', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      const id = await condense(store, 3, 8)
      await store.undoCompaction(S, id)
      await store.messages.pin(S, [ids[4]!])
      const state = await everything(store)
      const error = await refusal(store.redoCompaction(S, id), 'INPUT_NOT_VISIBLE')
      expect(error.facts.compactionId).toBe(id)
      if (keeps.audit) expect(error.facts.missing).toEqual([ids[4]])
      expect(await everything(store)).toEqual(state)
      await store.messages.unpin(S, [ids[4]!])
      expect(await store.redoCompaction(S, id)).toMatchObject({ changed: true })
    })

    test('redo is refused when a covered message is hidden by another', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      const id = await condense(store, 3, 8)
      await store.undoCompaction(S, id)
      await store.compactions.hide(S, [ids[4]!])
      const error = await refusal(store.redoCompaction(S, id), 'INPUT_NOT_VISIBLE')
      if (keeps.audit) expect(error.facts.missing).toEqual([ids[4]])
    })

    test('redo is refused when something came to light inside its span', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      const hidden = await store.compactions.hide(S, [ids[4]!, ids[5]!])
      const id = await condense(store, 3, 8)
      await store.undoCompaction(S, id)
      await store.undoCompaction(S, hidden.id)
      const error = await refusal(store.redoCompaction(S, id), 'INPUT_NOT_VISIBLE')
      expect(error.facts.missing).toEqual([ids[4], ids[5]])
      expect(await store.redoCompaction(S, id, { cascade: true })).toMatchObject({
        compactionIds: [hidden.id, id],
      })
    })

    test('what was hidden inside the span cannot come to light under the summary', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      const hidden = await store.compactions.hide(S, [ids[4]!, ids[5]!])
      const id = await condense(store, 3, 8)
      const error = await refusal(store.undoCompaction(S, hidden.id), 'HAS_ACTIVE_DEPENDENTS')
      expect(error.facts.dependents).toEqual([id])
    })

    test('a late result, which its call is visible for, keeps nothing from being undone and redone', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'go'),
        call('late', 'run'),
        say('user', 'never mind'),
        say('assistant', units(40)),
        ...chat(2),
      ])
      const id = await condense(store, 3, 4)
      await appendAll(store, [result('late', 'here it is'), say('assistant', 'thanks')])
      expect(await shape(store)).toEqual([1, 2, 'summary', 5, 6, 7, 8, 9, 10])
      await store.undoCompaction(S, id)
      expect(await shape(store)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      await store.redoCompaction(S, id)
      expect(await shape(store)).toEqual([1, 2, 'summary', 5, 6, 7, 8, 9, 10])
      // With its result the call can be part of a summary.
      await condense(store, 1, 9)
      expect(await shape(store)).toEqual(['summary', 10])
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('a late result that was hidden too does not part the pair when its call comes back', async () => {
      const store = await open()
      const ids = await appendAll(store, [say('user', 'go'), call('late', 'run')])
      await refusal(store.compactions.hide(S, [ids[1]!]), 'PENDING_TOOL_CALLS')
      // Only a rewind hides an open call.
      const { compactionId } = await store.rewind(S, { from: { beforeMessage: ids[1]! } })
      const [late] = await appendAll(store, [result('late', 'here it is'), say('user', 'more')])
      await store.compactions.hide(S, [late!])
      await store.undoCompaction(S, compactionId!, { both: true })
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('the newest replacement in force shows, whatever the order of undos and redos', async () => {
      const store = await open()
      await appendAll(store, [say('user', units(400)), say('assistant', units(400)), ...chat(1)])
      const cut = (maxOutputTokens: number): CompactionConfig => ({
        enablePrune: false,
        enableDeduplicate: false,
        enableSummarize: false,
        targetTokens: 0,
        maxOutputTokens,
      })
      const before = await standing(store)
      const first = await store.compactSession(S, cut(127_200))
      await store.undoCompaction(S, first!.runId)
      const third = await store.compactSession(S, cut(127_600))
      expect([first!.compacted, third!.compacted]).toEqual([true, true])
      const shorter = await texts(store)
      // The first one is older, so redoing it changes nothing that is shown.
      await store.redoCompaction(S, first!.runId)
      expect(await texts(store)).toEqual(shorter)
      await store.undoCompaction(S, third!.runId)
      await store.undoCompaction(S, first!.runId)
      expect(await standing(store)).toEqual(before)
    })

    test('undo and redo outlive the store that made the compaction', async () => {
      const { store, reopen } = await openBoth()
      if (reopen === undefined) return
      await appendAll(store, chat(6))
      const before = await standing(store)
      const id = await condense(store, 3, 8)
      const after = await standing(store)
      await store.close()
      const second = await reopen()
      expect(await standing(second)).toEqual(after)
      await second.undoCompaction(S, id)
      await second.close()
      const third = await reopen()
      expect(await standing(third)).toEqual(before)
      await third.redoCompaction(S, id)
      expect(await standing(third)).toEqual(after)
    })
  })
}
