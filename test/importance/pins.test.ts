import { describe, expect, it, test } from 'vitest'
import { rowsOf } from '../../src/compat/arrays/rows.ts'
import { checkLaws } from '../../src/core/model/laws.ts'
import { priorityStage } from '../../src/core/stages/priority.ts'
import {
  type ChatMessage,
  type CompactionConfig,
  openStore,
  type Store,
  type ViewMessage,
} from '../../src/index.ts'
import { ONLY, refusal } from '../storage/contract/support.ts'
import { call, calls, result, say, units } from '../support/conversation.ts'

/*
 * What a pin protects, stage by stage. Messages are named by what they are; pinned ones must be in the view, whole,
 * whatever a stage does to their equals.
 */

const FILE = Array.from({ length: 80 }, (_, line) => `line ${line + 1} of the file`).join('\n')
const NAMES = [
  'request',
  'oldRead',
  'oldFile',
  'batch',
  'batchOne',
  'batchTwo',
  'remark',
  'question',
  'newRead',
  'newFile',
  'answer',
  'last',
  'end',
] as const
type Name = (typeof NAMES)[number]

const MESSAGES = [
  say('user', `request ${units(300)}`),
  call('r1', 'read', { path: 'a.ts' }),
  result('r1', FILE),
  calls(['b1', 'look', { a: 1 }], ['b2', 'look', { a: 2 }]),
  result('b1', units(300)),
  result('b2', units(300)),
  say('assistant', `remark ${units(300)}`),
  say('user', `question ${units(300)}`),
  call('r2', 'read', { path: 'a.ts' }),
  result('r2', FILE),
  say('assistant', `answer ${units(300)}`),
  say('user', `last ${units(20)}`),
  say('assistant', `end ${units(20)}`),
]

const STAGES: Record<string, CompactionConfig> = {
  prune: { ...ONLY.prune, targetTokens: 0, pruneProtectTokens: 0, pruneMinimumSavings: 0 },
  deduplicate: { ...ONLY.deduplicate, targetTokens: 0, deduplicateMinimumSavings: 0 },
  summarize: { ...ONLY.summarize, targetTokens: 600, keepRecentTokens: 100, summaryMaxTokens: 300 },
  truncate: { ...ONLY.truncate, targetTokens: 0, emergencyCut: false },
  'truncate by a fraction': { ...ONLY.truncate, targetTokens: 0, truncationFraction: 1, emergencyCut: false },
  'truncate by importance': {
    ...ONLY.truncate,
    targetTokens: 0,
    truncationOrder: 'importance',
    emergencyCut: false,
  },
  // Target met before it starts, so that only contents are cut: the window of openai less an output that leaves little.
  cut: { ...ONLY.truncate, emergencyCut: true, targetTokens: 100_000, maxOutputTokens: 127_500 },
}

async function session(): Promise<{ store: Store; ids: Record<Name, string> }> {
  const store = await openStore(':memory:', { estimator: 'neurolink' })
  const { messages } = await store.append('s', MESSAGES)
  const ids = Object.fromEntries(NAMES.map((name, at) => [name, messages[at]!.id])) as Record<Name, string>
  return { store, ids }
}

/** Which of the messages are shown as they were appended, and which at all. */
async function shown(store: Store, ids: Record<Name, string>): Promise<{ whole: Name[]; visible: Name[] }> {
  const view = new Map<string, ViewMessage>(
    (await store.getEffectiveHistory('s')).map((message) => [message.id, message]),
  )
  const visible = NAMES.filter((name) => view.has(ids[name]))
  const whole = visible.filter((name) => (view.get(ids[name])!.replacedParts ?? []).length === 0)
  return { whole, visible }
}

describe('a pinned message stays, whole [F2-02]', () => {
  for (const [stage, config] of Object.entries(STAGES)) {
    describe(stage, () => {
      test('without a pin the stage does something to what is pinned below', async () => {
        const { store, ids } = await session()
        expect((await store.compactSession('s', config))!.compacted).toBe(true)
        expect((await shown(store, ids)).whole).not.toEqual([...NAMES])
        await store.close()
      })

      it.each(NAMES)('%s', async (name) => {
        const { store, ids } = await session()
        await store.messages.pin('s', [ids[name]])
        await store.compactSession('s', config)
        const { whole, visible } = await shown(store, ids)
        expect(whole).toContain(name)
        // A pinned result keeps its call in sight, a pinned call its results, a batch all of it.
        const groups: Name[][] = [
          ['oldRead', 'oldFile'],
          ['batch', 'batchOne', 'batchTwo'],
          ['newRead', 'newFile'],
        ]
        for (const group of groups) {
          if (group.includes(name)) expect(visible).toEqual(expect.arrayContaining(group))
        }
        expect((await store.sessions.verify('s')).findings).toEqual([])
        // Nothing has to be made up for a provider; neighbors of one role may have to be joined.
        const { mends } = await store.renderHistory('s', { provider: 'openai' })
        expect(mends.filter(({ kind }) => kind !== 'merged')).toEqual([])
        await store.close()
      })

      test('all at once', async () => {
        const { store, ids } = await session()
        await store.messages.pin('s', Object.values(ids))
        const run = await store.compactSession('s', config)
        expect(run!.compacted).toBe(false)
        expect((await shown(store, ids)).whole).toEqual([...NAMES])
        await store.close()
      })
    })
  }

  test('others of the same kind are cleared beside it', async () => {
    const { store, ids } = await session()
    await store.messages.pin('s', [ids.batchOne])
    await store.compactSession('s', STAGES.prune)
    const { whole } = await shown(store, ids)
    expect(NAMES.filter((name) => !whole.includes(name))).toEqual(['oldFile', 'batchTwo', 'newFile'])
  })

  test('the emergency cut shortens others, and a pinned one as long as they are is whole', async () => {
    const { store, ids } = await session()
    await store.messages.pin('s', [ids.answer])
    await store.compactSession('s', STAGES.cut)
    const { whole, visible } = await shown(store, ids)
    expect(visible).toEqual([...NAMES])
    expect(whole).toContain('answer')
    expect(whole).not.toContain('remark')
  })

  test('a condensation is split around it: two summaries, and the message between them', async () => {
    const { store, ids } = await session()
    await store.messages.pin('s', [ids.remark])
    await store.compactSession('s', STAGES.summarize)
    const view = await store.getEffectiveHistory('s')
    const kinds = view.map(({ id, kind }) => (id === ids.remark ? 'remark' : kind))
    expect(kinds).toEqual(['summary', 'remark', 'summary', 'message', 'message'])
    await store.close()
  })

  test('a condensation is split around the whole group of a pinned result', async () => {
    const { store, ids } = await session()
    await store.messages.pin('s', [ids.batchTwo])
    await store.compactSession('s', STAGES.summarize)
    const view = await store.getEffectiveHistory('s')
    const kinds = view.map(({ id, kind }) => NAMES.find((name) => ids[name] === id) ?? kind)
    expect(kinds).toEqual(['summary', 'batch', 'batchOne', 'batchTwo', 'summary', 'last', 'end'])
    await store.close()
  })

  test.each(NAMES.map((name, at) => [name, at] as const))('priority: %s', (_, at) => {
    const messages = MESSAGES.map((message, index) => ({ ...message, pinned: index === at }))
    const { view, parts } = rowsOf(messages as ChatMessage[], '', 'test')
    const plan = priorityStage().plan(view, {
      settings: {} as never,
      targetTokens: 0,
      limitTokens: 0,
      contentOf: (row) => parts.get(row.key) ?? [],
      metadataOf: () => undefined,
    })!
    checkLaws('', view, plan)
    const hidden = plan.hide.map(({ key }) => key - 1)
    for (const member of view.turns.groupOf(at)) expect(hidden).not.toContain(member)
  })
})

describe('pinning and unpinning [F2-03]', () => {
  const { truncate } = STAGES

  test('takes effect at the next plan, not on what is hidden already', async () => {
    const { store, ids } = await session()
    const first = await store.compactSession('s', truncate)
    expect((await shown(store, ids)).visible).not.toContain('remark')
    await store.messages.pin('s', [ids.remark])
    expect((await shown(store, ids)).visible).not.toContain('remark')
    await store.undoCompaction('s', first!.runId)
    await store.compactSession('s', truncate)
    expect((await shown(store, ids)).visible).toContain('remark')
    await store.messages.unpin('s', [ids.remark])
    expect((await shown(store, ids)).visible).toContain('remark')
    await store.compactSession('s', truncate)
    expect((await shown(store, ids)).visible).not.toContain('remark')
    await store.close()
  })

  test('is undone by nothing else: undo, redo, compaction, repair and counting anew leave pins alone', async () => {
    const { store, ids } = await session()
    await store.messages.pin('s', [ids.remark, ids.oldFile])
    const pinned = async (): Promise<string[]> =>
      (await store.getMessages('s')).flatMap((message) => (message.pinned ? [message.id] : []))
    const run = (await store.compactSession('s', truncate))!.runId
    expect(await pinned()).toEqual([ids.oldFile, ids.remark])
    await store.undoCompaction('s', run)
    await store.redoCompaction('s', run)
    await store.sessions.verify('s', { repair: true })
    await store.sessions.reestimate('s', 'calibrated')
    await store.append('s', [say('user', 'more')])
    expect(await pinned()).toEqual([ids.oldFile, ids.remark])
    await store.messages.unpin('s', [ids.remark])
    await store.undoCompaction('s', run)
    expect(await pinned()).toEqual([ids.oldFile])
    await store.close()
  })

  test('between a preview and its application it makes the plan stale', async () => {
    const { store, ids } = await session()
    const preview = (await store.previewCompaction('s', truncate))!
    await store.messages.pin('s', [ids.remark])
    await refusal(store.compactSession('s', preview), 'STALE_PLAN')
    expect((await shown(store, ids)).visible).toEqual([...NAMES])
    await store.close()
  })
})
