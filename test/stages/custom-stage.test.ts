import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { UndertextError, View } from '../../src/index.ts'
import {
  openStore,
  originalErrorOf,
  type PlanningStage,
  type SlowPlanningStage,
  type Stage,
  type Summarizer,
  type SummaryRequest,
} from '../../src/index.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { failureOf } from '../support/failures.ts'

const S = 's'
const errorOf = (act: () => unknown): Promise<UndertextError> => failureOf(act) as Promise<UndertextError>
const neurolink = { estimator: 'neurolink' } as const
/** Over any target. */
const small = { targetTokens: 10 }

/** Hides what people say to be polite. */
const dropThanks: Stage = {
  name: 'drop_thanks',
  reads: (view) => view.rows.filter((row) => row.role === 'user'),
  plan: (view, { contentOf }) => ({
    hide: view.rows.filter((row) =>
      contentOf(row).some((part) => part.type === 'text' && part.text === 'Thanks!'),
    ),
  }),
}

describe('a stage of the application', () => {
  it('hides rows, is named in result and audit, and is undone like any other', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, [say('user', 'Hi'), say('user', 'Thanks!'), say('assistant', 'Welcome')])
    const before = await store.getEffectiveHistory(S)
    const run = await store.compactSession(S, { stages: [dropThanks], ...small })
    expect(run).toMatchObject({ compacted: true, stagesUsed: ['drop_thanks'] })
    expect(run!.messages.map(({ content }) => content)).toEqual(['Hi', 'Welcome'])
    const [compaction] = await store.listCompactions(S)
    expect(compaction).toMatchObject({ kind: 'truncate', rowsHidden: 1, params: { stage: 'drop_thanks' } })
    await store.undoCompaction(S, run!.runId)
    expect(await store.getEffectiveHistory(S)).toEqual(before)
  })

  it('shows other texts in place of texts and results, sizes worked out, also twice over one part', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, [say('user', units(100)), call('c', 'run'), result('c', units(200))])
    const shorten = (text: string): Stage => ({
      name: 'shorten',
      plan: (view) => ({
        replace: [
          { row: view.rows[0]!, part: 0, text },
          { row: view.rows[2]!, part: 0, text },
        ],
      }),
    })
    // Texts of 400 and 800 characters become 4 characters, 1 unit, each; then 8 characters, 2 units.
    const first = await store.compactSession(S, { stages: [shorten('four')], ...small })
    const units0 = first!.tokensBefore
    expect(units0 - first!.tokensAfter).toBe(Math.ceil(302 * 1.15) - Math.ceil(4 * 1.15))
    const second = await store.compactSession(S, { stages: [shorten('eight___')], ...small })
    expect(second!.tokensAfter - first!.tokensAfter).toBe(Math.ceil(6 * 1.15) - Math.ceil(4 * 1.15))
    expect(await store.sessions.verify(S)).toMatchObject({ findings: [] })
    await store.undoCompaction(S, second!.runId)
    await store.undoCompaction(S, first!.runId)
    expect((await store.getContextStats(S))!.estimated).toBe(units0)
  })

  it('writes a summary of its own, which must be smaller than what it replaces', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(6))
    const digest = (text: string): Stage => ({
      name: 'digest',
      plan: (view) => ({ hide: view.rows.slice(0, 8), insert: { kind: 'summary', text } }),
    })
    const long = await store.compactSession(S, { stages: [digest(units(500))], ...small })
    expect(long).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED' })
    expect(long!.failed).toMatchObject([{ status: 'rejected', error: 'SUMMARY_NOT_SMALLER' }])
    const empty = await store.compactSession(S, { stages: [digest('  ')], ...small })
    expect(empty!.failed).toMatchObject([{ status: 'failed', error: 'EMPTY_SUMMARY' }])
    const run = await store.compactSession(S, { stages: [digest('Four turns.')], ...small })
    expect(run!.messages[0]).toMatchObject({ kind: 'summary', content: 'Four turns.' })
    expect(run!.messages).toHaveLength(5)
    expect(run!.compactions).toMatchObject([{ kind: 'condense', rowsHidden: 8, rowsInserted: 1 }])
  })

  it('names what is to be summarized, and the summarizer writes it', async () => {
    const asked: SummaryRequest[] = []
    const spy: Summarizer = {
      name: 'spy',
      usesModel: true,
      summarize(request) {
        asked.push(request)
        return { text: 'short' }
      },
    }
    await using store = await openStore(':memory:', { ...neurolink, summarizer: spy })
    await store.append(S, chat(6))
    const firstHalf: Stage = { name: 'first_half', summaries: (view) => [{ rows: view.rows.slice(0, 6) }] }
    const preview = await store.previewCompaction(S, { stages: [firstHalf], ...small })
    expect(preview!.summaryPending).toMatchObject([{ summarizer: 'spy' }])
    expect(asked).toHaveLength(0)
    const run = await store.compactSession(S, { stages: [firstHalf], ...small })
    expect(asked).toHaveLength(1)
    expect(asked[0]!.messages).toHaveLength(6)
    expect(run).toMatchObject({ stagesUsed: ['first_half'] })
    expect(run!.messages.map(({ kind }) => kind)).toEqual(['summary', ...Array(6).fill('message')])
  })

  it('is held to the hard laws: nothing is parted, pinned rows stay', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, [say('user', 'go'), call('c', 'run'), result('c', 'out'), say('assistant', 'done')])
    const hide = (...places: number[]): Stage => ({
      name: 'hide_places',
      plan: (view) => ({ hide: places.map((at) => view.rows[at]!) }),
    })
    const refused = await errorOf(() => store.compactSession(S, { stages: [hide(1)], ...small }))
    expect(refused).toMatchObject({ code: 'ILLEGAL_BOUNDARY' })
    const [first] = await store.getMessages(S)
    await store.messages.pin(S, [first!.id])
    expect(await errorOf(() => store.compactSession(S, { stages: [hide(0)], ...small }))).toMatchObject({
      code: 'ILLEGAL_BOUNDARY',
    })
    expect(await store.listCompactions(S)).toEqual([])
    // In any order, twice, and as copies.
    const run = await store.compactSession(S, {
      stages: [
        { name: 'copies', plan: (view) => ({ hide: [2, 1, 2].map((at) => ({ ...view.rows[at]! })) }) },
      ],
      ...small,
    })
    expect(run!.messages.map(({ content }) => content)).toEqual(['go', 'done'])
  })

  it.each<[string, PlanningStage['plan'] | SlowPlanningStage['plan'], string]>([
    ['throws', () => Promise.reject(new TypeError('secret words')), 'TypeError'],
    ['answers a text', () => 'secret words' as never, "the plan isn't an object"],
    ['hides no rows', () => ({ hide: ['secret'] }) as never, "hide isn't a list of rows of the view"],
    [
      'names a role nobody has',
      (view: View) =>
        ({ hide: [view.rows[0]!], insert: { kind: 'marker', text: 'x', role: 'secret' } }) as never,
      'insert is not',
    ],
    [
      'replaces by no text',
      (view: View) => ({ replace: [{ row: view.rows[0]!, part: 0, text: { a: 'secret' } }] }) as never,
      "replace isn't a list",
    ],
    [
      'replaces a part twice',
      (view: View) => ({
        replace: [1, 2].map((n) => ({ row: view.rows[0]!, part: 0, text: `secret ${n}` })),
      }),
      'a part twice',
    ],
    ['refers to nothing', () => ({ requires: 5 }) as never, "requires isn't a list"],
    ['has params that are no JSON', () => ({ params: { big: 5n } }) as never, "params isn't a JSON object"],
    [
      'inserts for nothing',
      () => ({ insert: { kind: 'marker', text: 'secret' } }) as never,
      'insert replaces hidden rows',
    ],
  ])('that %s fails the run, in words that quote nothing, and nothing is written', async (_, plan, error) => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(3))
    const failed = await errorOf(() =>
      store.compactSession(S, { stages: [{ name: 'broken', plan } as Stage], ...small }),
    )
    expect(failed).toMatchObject({ code: 'STAGE_FAILED', facts: { stage: 'broken' } })
    expect(failed.message).toContain(error)
    expect(inspect(failed)).not.toContain('secret')
    if (error === 'TypeError') expect(originalErrorOf(failed)).toBeInstanceOf(TypeError)
    expect(await store.listCompactions(S)).toEqual([])
  })
})

describe('what a stage of the application claims', () => {
  it('is worked out anew: figures, kind and order', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(6))
    const before = await store.getEffectiveHistory(S)
    const liar: Stage = {
      name: 'liar',
      plan: (view) =>
        ({
          kind: 'manual',
          hide: [view.rows[5]!, view.rows[4]!],
          replace: [{ row: view.rows[0]!, part: 0, text: 'short', saved: { text: 1_000_000 }, moved: true }],
          requires: [],
          params: {},
        }) as never,
    }
    const run = await store.compactSession(S, { stages: [liar], ...small })
    expect(run!.compactions).toMatchObject([
      { kind: 'truncate', stage: 'liar', rowsHidden: 2, partsReplaced: 1 },
    ])
    expect(await store.sessions.verify(S)).toMatchObject({ findings: [] })
    expect((await store.getContextStats(S))!.estimated).toBe(run!.tokensAfter)
    await store.undoCompaction(S, run!.runId)
    expect(await store.getEffectiveHistory(S)).toEqual(before)
    expect(await store.redoCompaction(S, run!.runId)).toMatchObject({ changed: true })
  })

  it('hides no live summary without a replacement, and spans no gap', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(6))
    await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'Two turns.' })
    const hideSummary: Stage = {
      name: 'hide_summary',
      plan: (view) => ({ kind: 'condense', hide: [view.rows[0]!] }) as never,
    }
    const gap: Stage = {
      name: 'gap',
      plan: (view) =>
        ({
          kind: 'truncate',
          hide: [view.rows[1]!, view.rows[8]!],
          insert: { kind: 'summary', text: 'S' },
        }) as never,
    }
    for (const stage of [hideSummary, gap]) {
      const error = await errorOf(() => store.compactSession(S, { stages: [stage], ...small }))
      expect(error).toMatchObject({ code: 'ILLEGAL_BOUNDARY', facts: { stage: stage.name } })
    }
    const part: Stage = {
      name: 'part',
      plan: (view) => ({ replace: [{ row: view.rows[1]!, part: 99, text: 'x' }] }),
    }
    expect(await errorOf(() => store.compactSession(S, { stages: [part], ...small }))).toMatchObject({
      code: 'ILLEGAL_BOUNDARY',
    })
  })

  it('a summary of little is not committed because the stage claims that it replaces much', async () => {
    const long: Summarizer = { name: 'long', usesModel: true, summarize: () => ({ text: units(500) }) }
    await using store = await openStore(':memory:', { ...neurolink, summarizer: long })
    await store.append(S, chat(6))
    const stage: Stage = {
      name: 'much',
      summaries: (view) => [{ rows: view.rows.slice(0, 2), tokens: 100_000 } as never],
    }
    const run = await store.compactSession(S, { stages: [stage], ...small })
    expect(run).toMatchObject({ compacted: false, failed: [{ error: 'SUMMARY_NOT_SMALLER' }] })
  })

  it('may be nothing, and what shows that text already is not replaced again', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(6))
    const shorten: Stage = {
      name: 'shorten',
      plan: (view) => ({ replace: [{ row: view.rows[0]!, part: 0, text: 'x' }] }),
    }
    expect((await store.compactSession(S, { stages: [shorten], ...small }))!.compacted).toBe(true)
    expect((await store.compactSession(S, { stages: [shorten], ...small }))!.compacted).toBe(false)
    const nothing: Stage = { name: 'nothing', plan: () => null as never }
    expect((await store.compactSession(S, { stages: [nothing], ...small }))!.reason).toBe('NO_PROGRESS')
    const unread: Stage = {
      name: 'unread',
      plan: (view, { contentOf }) => ({ hide: view.rows.filter((row) => contentOf(row).length === 0) }),
    }
    const error = await errorOf(() => store.compactSession(S, { stages: [unread], ...small }))
    expect(error).toMatchObject({ code: 'STAGE_FAILED' })
    expect(error.message).toContain('reads')
  })
})

describe('a composition', () => {
  const hideFirst = (name: string, used: string[]): Stage => ({
    name,
    plan(view) {
      used.push(name)
      return { hide: [view.rows[0]!] }
    },
  })

  it('runs in order, each only while the history is over the target, nested ones over their own budget', async () => {
    await using store = await openStore(':memory:', neurolink)
    // A message of 100 units: 115 tokens and 4; 24 for the conversation.
    await store.append(
      S,
      Array.from({ length: 6 }, () => say('user', units(100))),
    )
    const used: string[] = []
    const [one, two, three, four] = ['one', 'two', 'three', 'four'].map((name) => hideFirst(name, used))
    const all = 24 + 6 * 119
    // The nested one stops at 500: two go. Then three more, until no more than 130 are left.
    const run = await store.compactSession(S, {
      stages: [{ name: 'inner', stages: [one!, two!, three!], budget: 520 }, three!, four!, one!, two!],
      targetTokens: 150,
    })
    expect(run).toMatchObject({ tokensBefore: all, tokensAfter: all - 5 * 119, reachedTarget: true })
    expect(used).toEqual(['one', 'two', 'three', 'four', 'one'])
    expect(run!.compactions).toHaveLength(5)
  })

  it('that holds itself, or is nested without end, is refused', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(6))
    const round: { name: string; stages: Stage[] } = { name: 'round', stages: [] }
    round.stages.push(round)
    expect(await errorOf(() => store.compactSession(S, { stages: [round] }))).toMatchObject({
      code: 'INVALID_INPUT',
    })
  })

  it('is written by names and options as well', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(6))
    const run = await store.compactSession(S, { stages: ['prune', 'truncate'], ...small })
    expect(run!.stagesUsed).toEqual(['truncate'])
    for (const stages of [
      [],
      ['nothing'],
      [{ stage: 'prune', depth: 3 }],
      [{ name: 'Bad name', plan: () => undefined }],
      [42],
    ]) {
      const error = await errorOf(() => store.compactSession(S, { stages: stages as never }))
      expect(error.code).toBe('INVALID_INPUT')
    }
  })
})
