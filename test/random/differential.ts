import fc from 'fast-check'
import { expect } from 'vitest'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { dropReasoning } from '../../src/compat/arrays/index.ts'
import { missingAfterSummary } from '../../src/core/model/laws.ts'
import { estimatorNamed } from '../../src/core/tokens/index.ts'
import {
  type CompactionResult,
  isUndertextError,
  type NewMessage,
  type OpenOptions,
  openStore,
  type ProviderCompactionResult,
  type RewindPoint,
  type StageSpec,
  validateHistory,
} from '../../src/index.ts'
import { Store } from '../../src/store/store.ts'
import { withoutTime } from '../crashes/standing.ts'
import { applyStage, storageOf } from '../support/apply-stage.ts'
import { call, calls, failure, result, say, units } from '../support/conversation.ts'
import { ModelStorage } from '../support/model-storage.ts'
import { expectAccepted, expectSessionAccepted, providerOfStep } from '../support/requests.ts'

/*
 * Random sequences of verbs, run against the SQLite store and against the pure model: after every step the same
 * view, the same figures, the same refusals; and `sessions.verify`, which rebuilds all tags from coverage and
 * statuses, finds nothing.
 */

/** One verb with its random choices; numbers pick among what is there when it runs. */
export type Step =
  | { readonly verb: 'append'; readonly messages: readonly NewMessage[] }
  | { readonly verb: 'pin' | 'unpin'; readonly pick: readonly number[] }
  | { readonly verb: 'hide'; readonly pick: readonly number[]; readonly whole: boolean }
  | {
      readonly verb: 'rewind'
      readonly back: number
      readonly messages: readonly NewMessage[]
      readonly operation: number
      readonly asked: boolean
      readonly keep: boolean
      /** Any message of the log is named, hidden or not. */
      readonly any: boolean
    }
  | { readonly verb: 'compact'; readonly stage: Stage; readonly share: number; readonly seed: boolean }
  | { readonly verb: 'compose'; readonly stages: readonly StageSpec[]; readonly share: number }
  | {
      readonly verb: 'request'
      readonly share: number
      readonly size: number
      readonly stage: 'all' | 'truncate'
      readonly seed: boolean
    }
  | { readonly verb: 'range'; readonly from: number; readonly length: number }
  | {
      readonly verb: 'undo' | 'redo'
      readonly pick: number
      readonly run: boolean
      readonly cascade: boolean
      readonly both: boolean
    }
  | { readonly verb: 'report'; readonly percent: number; readonly upTo: number | undefined }
  | { readonly verb: 'drop'; readonly keepTurns: number }
  | {
      readonly verb: 'block'
      readonly size: number
      readonly calls: boolean
      readonly early: boolean
      readonly recorded: boolean
    }
  | { readonly verb: 'record' }
  | { readonly verb: 'edits'; readonly results: number; readonly turns: number; readonly block: boolean }
  | { readonly verb: 'reopen' }

const STAGES = ['prune', 'deduplicate', 'summarize', 'truncate', 'cut', 'all'] as const
type Stage = (typeof STAGES)[number]

/** A turn as agents make them: a request, calls with results (some late, failed, missing, with repeated ids), an answer. */
const turn: fc.Arbitrary<NewMessage[]> = fc
  .record({
    size: fc.integer({ min: 1, max: 60 }),
    loops: fc.array(
      fc.record({
        kind: fc.constantFrom('one', 'parallel', 'failed', 'missing', 'late', 'read', 'reasoned'),
        id: fc.constantFrom('call_0', 'call_1', 'call_2'),
        path: fc.constantFrom('src/a.ts', './src/a.ts', 'src/b.ts'),
        from: fc.integer({ min: 1, max: 3 }),
        lines: fc.integer({ min: 1, max: 60 }),
      }),
      { maxLength: 3 },
    ),
    answer: fc.boolean(),
    // The result of a call of an earlier turn, which may be open, answered already, hidden or nowhere.
    owed: fc.option(fc.constantFrom('call_0', 'call_1', 'call_2'), { nil: undefined }),
  })
  .map(({ size, loops, answer, owed }) => {
    const messages: NewMessage[] = [say('user', units(size, 'u'))]
    if (owed !== undefined) messages.push(result(owed, units(size, 'o')))
    const late: NewMessage[] = []
    for (const { kind, id, path, from, lines } of loops) {
      const text = Array.from({ length: lines }, (_, line) => `line ${from + line}`).join('\n')
      if (kind === 'parallel') {
        messages.push(calls([id, 'search'], [`${id}b`, 'list']), result(`${id}b`, units(8)), result(id, text))
      } else if (kind === 'read') {
        messages.push(call(id, 'read', { path, offset: from, limit: lines }), result(id, text))
      } else if (kind === 'reasoned') {
        messages.push(
          {
            role: 'assistant',
            content: [
              { type: 'reasoning', text: units(4, 'r') },
              { type: 'tool-call', toolCallId: id, toolName: 'run', input: { lines } },
            ],
          },
          result(id, text),
        )
      } else {
        messages.push(call(id, 'run', { lines }))
        if (kind === 'one') messages.push(result(id, text))
        if (kind === 'failed') messages.push(failure(id, text))
        if (kind === 'late') late.push(result(id, text))
      }
    }
    if (answer) messages.push(say('assistant', units(size, 'a')))
    return [...messages, ...late]
  })

/** Stages besides the four, as a configuration writes them. */
const few = fc.nat({ max: 6 })
const composed: fc.Arbitrary<StageSpec> = fc.oneof(
  fc.record({ stage: fc.constant('sliding_window'), last: few, summarize: fc.boolean() }),
  fc.record({ stage: fc.constant('sliding_window'), last: few, countSystem: fc.constant(true) }),
  fc.record({ stage: fc.constant('sliding_window'), fitBudget: fc.constant(true), summarize: fc.boolean() }),
  fc.record({
    stage: fc.constant('clear_tool_results'),
    keep: few,
    placeholder: fc.constantFrom('-', '[gone]'),
  }),
  fc.record({ stage: fc.constant('summarize_older'), keepLast: few }),
  fc.record({
    stage: fc.constant('priority_based'),
    order: fc.constantFrom('score', 'scorePerToken'),
    keepNewest: fc.constantFrom('turn', 'request'),
  }),
  fc.record({
    stage: fc.constant('hierarchical_summaries'),
    leafTokens: fc.constantFrom(1, 60),
    leafMessages: fc.integer({ min: 1, max: 4 }),
    fanOut: fc.integer({ min: 2, max: 3 }),
  }),
  fc.constant({ stage: 'composite', stages: ['prune', 'truncate'] }),
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      verb: fc.constant('append' as const),
      messages: fc.array(turn, { minLength: 1, maxLength: 3 }).map((turns) => turns.flat()),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constantFrom('pin' as const, 'unpin' as const),
      pick: fc.array(fc.nat(), { minLength: 1, maxLength: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('hide' as const),
      pick: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
      whole: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('rewind' as const),
      back: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.nat()),
      messages: fc.oneof(fc.constant([]), turn),
      // Few ids, so that they come again, with the same and with another request.
      operation: fc.integer({ min: 0, max: 12 }),
      asked: fc.boolean(),
      keep: fc.boolean(),
      any: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constant('compact' as const),
      stage: fc.constantFrom(...STAGES),
      share: fc.double({ min: 0.05, max: 0.9, noNaN: true }),
      seed: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('compose' as const),
      stages: fc.array(composed, { minLength: 1, maxLength: 3 }),
      share: fc.double({ min: 0.05, max: 0.9, noNaN: true }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('request' as const),
      share: fc.double({ min: 0.05, max: 1.2, noNaN: true }),
      size: fc.integer({ min: 1, max: 60 }),
      stage: fc.constantFrom('all' as const, 'all' as const, 'truncate' as const),
      seed: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant('range' as const),
      from: fc.nat(),
      length: fc.nat({ max: 12 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constantFrom('undo' as const, 'redo' as const),
      pick: fc.nat(),
      run: fc.boolean(),
      cascade: fc.boolean(),
      both: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('report' as const),
      percent: fc.constantFrom(5, 60, 100, 130, 180, 5_000),
      upTo: fc.option(fc.nat(), { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ verb: fc.constant('drop' as const), keepTurns: fc.constantFrom(1, 2) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('block' as const),
      size: fc.integer({ min: 1, max: 20 }),
      calls: fc.boolean(),
      early: fc.boolean(),
      recorded: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ verb: 'record' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant('edits' as const),
      results: fc.nat({ max: 8 }),
      turns: fc.nat({ max: 4 }),
      block: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ verb: 'reopen' as const }) },
)

export const sequence: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 3, maxLength: 16 })

export const SESSION = 's'
/** One for each sequence, by its length. */
const ESTIMATORS = ['neurolink', 'calibrated', 'nca', 'promptfleet'] as const

/** Of every third sequence the longer outputs are previewed: those of more than 220 bytes or 25 lines. */
export const PREVIEWING = { maxToolOutputBytes: 220, maxToolOutputLines: 25 }

type Open = (options: OpenOptions) => Promise<Store>

export async function checkSequence(
  steps: readonly Step[],
  open: Open = (options) => openStore(':memory:', options),
): Promise<void> {
  const estimator = estimatorNamed(ESTIMATORS[steps.length % ESTIMATORS.length]!)!
  const estimators = { standard: estimator, byName: new Map([[estimator.name, estimator]]) }
  const config = steps.length % 3 === 0 ? PREVIEWING : {}
  const real = await open({ estimator, config })
  const layers = [{ source: 'store' as const, values: config }]
  const model = new Store(new ModelStorage(estimator), { estimators, layers })
  try {
    for (const [index, one] of steps.entries()) {
      const answers = [await outcomeOf(real, one), await outcomeOf(model, one)]
      expect(answers[0], `step ${index} ${one.verb}`).toEqual(answers[1])
      // Stages plan around what is pinned or open.
      if (one.verb === 'compact' || one.verb === 'compose' || one.verb === 'request')
        expect(REFUSALS, `step ${index} ${one.verb}`).not.toContain(answers[0])
      expect(await stateOf(real), `after step ${index} ${one.verb}`).toEqual(await stateOf(model))
      await checkOwn(real, index)
      if (RENDERED.has(one.verb)) await checkRendering(real, index)
    }
    await checkUndoAll(real)
  } finally {
    await real.close()
  }
}

const REFUSALS: readonly unknown[] = ['ILLEGAL_BOUNDARY', 'PENDING_TOOL_CALLS']

/** What a verb answered, without what differs between two stores (ids, times). */
export async function outcomeOf(store: Store, one: Step): Promise<unknown> {
  try {
    return await perform(store, one)
  } catch (error) {
    if (isUndertextError(error)) return error.code
    throw error
  }
}

async function perform(store: Store, one: Step): Promise<unknown> {
  switch (one.verb) {
    case 'append': {
      const { position, preview } = await store.append(SESSION, one.messages)
      return { position, parts: preview?.parts, savedTokens: preview?.savedTokens }
    }
    case 'pin':
    case 'unpin': {
      const ids = await pickRows(store, one.pick)
      return ids.length === 0 ? 'nothing to pin' : store.messages[one.verb](SESSION, ids)
    }
    case 'hide': {
      const ids = one.whole ? await pickTurn(store, one.pick) : await pickVisible(store, one.pick)
      if (ids.length === 0) return 'nothing to hide'
      const { rowsHidden } = await store.compactions.hide(SESSION, ids)
      return rowsHidden
    }
    case 'rewind':
      return rewind(store, one)
    case 'compact':
      return compact(store, one)
    case 'compose': {
      const stats = await store.getContextStats(SESSION)
      if (stats === null) return null
      const targetTokens = Math.floor(stats.breakdown.conversationHistory * one.share)
      const stages = [...one.stages]
      const run = (): Promise<CompactionResult | null> =>
        store.compactSession(SESSION, { stages, targetTokens, summaryMaxTokens: 60 })
      return facts(await withoutHole(store, stages.some(summarizes), run))
    }
    case 'request':
      return request(store, one)
    case 'range': {
      const stats = await store.getContextStats(SESSION)
      if (stats === null) return null
      const from = 1 + (one.from % stats.storedMessages)
      const result = await store.compactSession(SESSION, {
        range: { from, to: from + one.length },
        summary: 'given',
      })
      return result?.compactions.map(({ rowsHidden }) => rowsHidden)
    }
    case 'undo':
    case 'redo': {
      const compactions = await knownCompactions(store)
      if (compactions.length === 0) return 'nothing there'
      const { id, runId } = compactions[one.pick % compactions.length]!
      const verb = one.verb === 'undo' ? 'undoCompaction' : 'redoCompaction'
      const options = { cascade: one.cascade, ...(one.verb === 'undo' && { both: one.both }) }
      const outcome = await store[verb](SESSION, one.run ? runId : id, options)
      const { changed, rows, parts, compactionIds, alsoChanged = [], unchanged = [] } = outcome
      const left = unchanged.map(({ status }) => status).filter((status) => status === 'undone')
      return { changed, rows, parts, count: compactionIds.length, turned: alsoChanged.length, left }
    }
    case 'report': {
      const stats = await store.getContextStats(SESSION)
      if (stats === null) return null
      const inputTokens = Math.floor((stats.estimated * one.percent) / 100)
      const position = one.upTo === undefined ? undefined : one.upTo % (stats.storedMessages + 1)
      return store.requests.recordUsage(SESSION, { inputTokens, position })
    }
    case 'block': {
      const answer = blockMessage(one)
      if (!one.recorded)
        return (await storageOf(store).append(SESSION, [answer], undefined)).messages[0]!.position
      return recordFacts((await store.append(SESSION, [answer])).providerCompaction)
    }
    case 'record':
      return recordFacts(await store.compactions.recordProvider(SESSION))
    case 'edits': {
      const appliedEdits = [
        { type: 'clear_thinking_20251015', cleared_thinking_turns: one.turns },
        { type: 'clear_tool_uses_20250919', cleared_tool_uses: one.results },
        ...(one.block ? [{ type: 'compact_20260112' }] : []),
      ]
      const excludeTools = one.results % 3 === 0 ? ['search'] : []
      return recordFacts(await store.compactions.recordProvider(SESSION, { appliedEdits, excludeTools }))
    }
    case 'drop': {
      const id = await applyStage(store, dropReasoning({ keepTurns: one.keepTurns }), SESSION)
      return id === undefined ? 'nothing to drop' : (await store.compactions.get(SESSION, id)).partsReplaced
    }
    case 'reopen':
      return undefined
  }
}

/** An answer in which a provider compacted: perhaps with words before the block, perhaps in the middle of a loop. */
function blockMessage({ size, calls: isCalling, early }: Extract<Step, { verb: 'block' }>): NewMessage {
  const data = { type: 'compaction', content: units(size, 's') }
  return {
    role: 'assistant',
    content: [
      ...(early ? [{ type: 'text' as const, text: units(2, 'e') }] : []),
      { type: 'provider', provider: 'anthropic', data },
      ...(isCalling
        ? [{ type: 'tool-call' as const, toolCallId: 'call_0', toolName: 'run', input: {} }]
        : [{ type: 'text' as const, text: units(3, 'b') }]),
    ],
  }
}

function recordFacts(result: ProviderCompactionResult | undefined): unknown {
  if (result === undefined) return undefined
  const { recorded, block, edits, tokensBefore, tokensAfter, compactionIds } = result
  return { recorded, block, edits, tokensBefore, tokensAfter, count: compactionIds.length }
}

async function compact(
  store: Store,
  { stage, share, seed }: Extract<Step, { verb: 'compact' }>,
): Promise<unknown> {
  const stats = await store.getContextStats(SESSION)
  if (stats === null) return null
  const targetTokens = Math.floor(stats.breakdown.conversationHistory * share)
  const on = (name: Stage): boolean => stage === name || stage === 'all'
  const options = {
    enablePrune: on('prune'),
    enableDeduplicate: on('deduplicate'),
    enableSummarize: on('summarize'),
    enableTruncate: on('truncate') || stage === 'cut',
    pruneProtectTokens: 30,
    pruneMinimumSavings: 1,
    deduplicateMinimumSavings: 0,
    summaryMaxTokens: 60,
    targetTokens: stage === 'cut' ? 0 : targetTokens,
    ...(stage === 'cut' && { maxOutputTokens: 128_000 - targetTokens }),
    ...(seed && stage === 'summarize' && { keepRecentRatio: 0.3 }),
    ...(seed && stage === 'truncate' && { truncationFraction: 0.5 }),
  }
  const run = (): Promise<CompactionResult | null> => store.compactSession(SESSION, options)
  const result = await withoutHole(store, on('summarize'), run)
  if (result !== null)
    expect(result.tokensAfter, 'the four stages never make the history larger').toBeLessThanOrEqual(
      result.tokensBefore,
    )
  return facts(result)
}

/** A request whose model has room for so large a share of the history. */
async function request(
  store: Store,
  { share, size, stage, seed }: Extract<Step, { verb: 'request' }>,
): Promise<unknown> {
  const stats = await store.getContextStats(SESSION)
  if (stats === null) return null
  const options = {
    prompt: units(size, 'p'),
    contextWindowTarget: 1 + Math.floor(stats.estimatedInputTokens * share),
    compaction: {
      summaryMaxTokens: 60,
      ...(stage === 'truncate' && { enableSummarize: false }),
      ...(seed && { truncationFraction: 0.5 }),
    },
  }
  const run = (): ReturnType<Store['prepareRequest']> => store.prepareRequest(SESSION, options)
  const { compacted, runs, messages } = await withoutHole(store, stage === 'all', run)
  return { compacted, runs: runs.map(facts), messages: messages.length }
}

/** Whether a stage of a configuration writes summaries. */
function summarizes(spec: StageSpec): boolean {
  if (typeof spec === 'string') return spec === 'summarize'
  if (spec.stage === 'composite') return (spec.stages as StageSpec[]).some(summarizes)
  return ['summarize_older', 'hierarchical_summaries'].includes(spec.stage) || spec.summarize === true
}

/** Does a run. One that summarizes leaves no message out of the view that is in no summary. */
async function withoutHole<T>(store: Store, isSummarizing: boolean, run: () => Promise<T>): Promise<T> {
  const shown = async (): Promise<Set<string>> =>
    new Set((await store.getMessages(SESSION, { visible: true })).map(({ id }) => id))
  const before = await shown()
  const result = await run()
  if (!isSummarizing) return result
  const after = await shown()
  const rows = (await store.getMessages(SESSION)).map(({ id, kind }, at) => ({
    key: at,
    kind,
    anchor: at,
    ordinal: 0,
    id,
  }))
  const missing = missingAfterSummary(
    rows.filter(({ id }) => before.has(id)),
    rows.filter(({ id }) => after.has(id)),
  )
  expect(missing, 'messages after the newest summary that are in no summary').toEqual([])
  return result
}

function facts(result: CompactionResult | null): unknown {
  if (result === null) return null
  const { compacted, stagesUsed, tokensBefore, tokensAfter, reachedTarget, fits, reason, failed } = result
  return {
    compacted,
    stagesUsed,
    tokensBefore,
    tokensAfter,
    reachedTarget,
    fits,
    reason,
    failed: failed.map(({ error }) => error),
  }
}

/** Failed attempts are not kept by the model, so only compactions that were in force once count. */
async function knownCompactions(store: Store): ReturnType<Store['listCompactions']> {
  try {
    return (await store.listCompactions(SESSION)).filter(
      ({ status }) => status === 'active' || status === 'undone',
    )
  } catch (error) {
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return []
    throw error
  }
}

async function pickRows(store: Store, pick: readonly number[]): Promise<string[]> {
  const rows = await rowsOf(store)
  return rows.length === 0 ? [] : [...new Set(pick.map((number) => rows[number % rows.length]!.id))]
}

/** From so many rows before the end; by a function of the view, or by the id of the row it finds. */
async function rewind(store: Store, one: Step & { readonly verb: 'rewind' }): Promise<unknown> {
  const pointIn = (rows: readonly { readonly id: string }[]): RewindPoint => {
    if (one.back === 0) return 'end'
    const messageId = rows[rows.length - one.back]?.id
    return messageId === undefined ? 'start' : { beforeMessage: messageId }
  }
  const known = (await store.getContextStats(SESSION)) !== null
  const rows =
    !known || one.asked ? [] : one.any ? await rowsOf(store) : await store.getEffectiveHistory(SESSION)
  const { rowsHidden, messages, position, existing, compactionId } = await store.rewind(SESSION, {
    from: one.asked ? pointIn : pointIn(rows),
    append: one.messages,
    keepCompactions: one.keep,
    ...(one.operation < 4 && { operationId: `op ${one.operation}`, operationBody: one.back }),
  })
  const positions = messages.map((message) => [message.position, message.existing])
  return { rowsHidden, positions, position, existing, hides: compactionId !== undefined }
}

async function pickVisible(store: Store, pick: readonly number[]): Promise<string[]> {
  const rows = (await rowsOf(store)).filter(({ hidden }) => !hidden)
  return rows.length === 0 ? [] : [...new Set(pick.map((number) => rows[number % rows.length]!.id))]
}

/** A whole turn, so that hiding by hand often succeeds. */
async function pickTurn(store: Store, pick: readonly number[]): Promise<string[]> {
  const rows = (await rowsOf(store)).filter(({ hidden, kind }) => !hidden && kind === 'message')
  const starts = rows.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
  if (starts.length === 0) return []
  const at = pick[0]! % starts.length
  return rows.slice(starts[at], starts[at + 1]).map(({ id }) => id)
}

async function rowsOf(store: Store): ReturnType<Store['getMessages']> {
  try {
    return await store.getMessages(SESSION)
  } catch (error) {
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return []
    throw error
  }
}

/** Everything the two stores must agree on. */
async function stateOf(store: Store): Promise<unknown> {
  if ((await store.getContextStats(SESSION)) === null) return null
  const compactions = await knownCompactions(store)
  const nameOf = new Map(compactions.map(({ id }, index) => [id, `c${index}`] as const))
  const name = (id: string | undefined): string | undefined => (id === undefined ? undefined : nameOf.get(id))
  const view = await store.getEffectiveHistory(SESSION, { provenance: true })
  const rows = await store.getMessages(SESSION, { shown: true })
  const visible = await store.getMessages(SESSION, { shown: true, visible: true })
  expect(visible).toEqual(rows.filter(({ hidden }) => !hidden))
  return {
    stats: withoutTime(await store.getContextStats(SESSION)),
    view: view.map(({ id, createdAt, condenseId, truncationId, ...rest }) => ({
      ...rest,
      condenseId: name(condenseId),
      truncationId: name(truncationId),
    })),
    rows: rows.map(
      ({
        id,
        createdAt,
        condenseId,
        truncationId,
        condenseParent,
        truncationParent,
        retiredBy,
        shown,
        ...rest
      }) => ({
        ...rest,
        shown: shown?.map(({ compactionId, ...one }) => ({ ...one, by: name(compactionId) })),
        tags: [condenseId, truncationId, condenseParent, truncationParent, retiredBy].map(name),
      }),
    ),
    compactions: compactions.map(
      ({ kind, status, coverage, rowsHidden, partsReplaced, rowsInserted, lifts, restores }) => ({
        kind,
        status,
        coverage,
        rowsHidden,
        partsReplaced,
        rowsInserted,
        lifts: lifts?.map(name),
        restores: restores?.map(name),
      }),
    ),
  }
}

/** What must be true of the real store by itself. */
async function checkOwn(store: Store, index: number): Promise<void> {
  if ((await store.getContextStats(SESSION)) === null) return
  const { findings } = await store.sessions.verify(SESSION)
  // A result may come after a rewind hid its call; that is no damage.
  expect(findings, `sessions.verify after step ${index}`).toEqual([])
  await checkOpenCalls(store, index)
}

/** A call without a result is hidden by a rewind, or because the assistant went on without the result. */
async function checkOpenCalls(store: Store, index: number): Promise<void> {
  const rewinds = new Set(
    (await store.listCompactions(SESSION)).flatMap(({ id, coverage }) => (coverage.rewinds ? [id] : [])),
  )
  const rows = new Map((await rowsOf(store)).map((row) => [row.id, row] as const))
  const answer = Math.max(
    ...[...rows.values()].map(({ role, position = 0 }) => (role === 'assistant' ? position : 0)),
  )
  for (const { status, call: place } of await store.messages.toolCalls(SESSION)) {
    const { hidden, truncationParent = '' } = rows.get(place.messageId)!
    if (status === 'pending' && hidden && !rewinds.has(truncationParent))
      expect(answer, `open call at ${place.position} after step ${index}`).toBeGreaterThan(place.position)
  }
}

/** Verbs after which a compaction block may stand elsewhere. */
const RENDERED: ReadonlySet<Step['verb']> = new Set([
  'block',
  'record',
  'edits',
  'undo',
  'redo',
  'hide',
  'rewind',
  'pin',
])

/** The rendering is valid, and holds no block that makes its provider ignore something. */
async function checkRendering(store: Store, index: number): Promise<void> {
  if ((await store.getContextStats(SESSION)) === null) return
  const { messages } = await store.renderHistory(SESSION, { provider: 'anthropic' })
  expect(validateHistory(messages, 'anthropic'), `rendering after step ${index}`).toEqual([])
  expectAccepted(messages, 'anthropic')
  await expectSessionAccepted(store, SESSION, `after step ${index}`, providerOfStep(index))
  const sent = toAnthropic(messages).messages
  const holding = sent.flatMap(({ content }, at) =>
    typeof content !== 'string' &&
    content.some(({ type }: { readonly type: string }) => type === 'compaction')
      ? [at]
      : [],
  )
  const before = sent.slice(0, holding[0] ?? 0).map(({ content }) => content)
  expect(holding.length, `blocks after step ${index}`).toBeLessThan(2)
  expect(before, `before the block after step ${index}`).toEqual([])
}

/** Undoing everything, newest first, shows every message of the log as it was appended. */
async function checkUndoAll(store: Store): Promise<void> {
  for (const { id } of (await knownCompactions(store)).reverse())
    await store.undoCompaction(SESSION, id, { cascade: true, both: true })
  if ((await store.getContextStats(SESSION)) === null) return
  const rows = (await store.getMessages(SESSION)).filter(({ kind }) => kind === 'message')
  const view = await store.getEffectiveHistory(SESSION)
  expect(view.map(({ id, content }) => ({ id, content }))).toEqual(
    rows.map(({ id, content }) => ({ id, content })),
  )
}
