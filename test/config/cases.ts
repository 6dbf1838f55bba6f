import { expect } from 'vitest'
import { TRUNCATION_MARKER } from '../../src/compat/arrays/index.ts'
import { type BeforeTurnOptions, beforeTurn, calculateFileTokenBudget } from '../../src/compat/index.ts'
import { partsOf } from '../../src/core/messages/message.ts'
import { STAGE_NAMES } from '../../src/core/stages/registry.ts'
import {
  type CompactionResult,
  type CompactOptions,
  extractiveSummarizer,
  type NewMessage,
  type Rendering,
  type Settings,
  type Store,
  type Summarizer,
  type SummaryRequest,
} from '../../src/index.ts'
import type { LayerValues, SettingName } from '../../src/store/config/settings.ts'
import { compactionConfigSchema } from '../../src/store/config/settings.ts'
import { chat, failure, result, say, call as toolCall, units } from '../support/conversation.ts'
import { asRecord } from '../support/record.ts'

/*
 * Every setting once: a value that is not the default, and what a store does without and with it. A setting without a
 * case does not compile, and the test fails.
 */

export const S = 's'

/** A store with a session of `talk`; `call` is what the case's setting is when it is tried per call. */
export type Trial = { readonly store: Store; readonly call: CompactOptions }

export type Case = {
  readonly value: unknown
  readonly talk?: readonly NewMessage[]
  readonly see: (trial: Trial) => unknown
  /** What is seen without and with the value. */
  readonly expected: readonly [without: unknown, with_: unknown]
  /** Where the value can stand. Default: store and session; those that a compaction reads, the call too. */
  readonly layers?: readonly ('store' | 'session' | 'call')[]
  /** Whether what reads it is there. */
  readonly isRead?: boolean
}

/** 20 messages of 100 units: 100 × 1.15 + 4 = 119 tokens each by `neurolink`, and 24. */
export const TALK = chat(10, 100)
/** Two outputs of 3,000 units, 3,450 tokens each. */
const TOOLS = [
  say('user', 'go'),
  toolCall('a', 'run'),
  result('a', units(3_000)),
  say('assistant', 'and'),
  toolCall('b', 'run'),
  result('b', units(3_000)),
  say('assistant', 'done'),
]
/** The same, of calls that failed. */
const FAILED_TOOLS = TOOLS.map((message, at) =>
  message.role === 'tool' ? failure(at === 2 ? 'a' : 'b', units(3_000)) : message,
)
const lines = Array.from({ length: 50 }, (_, at) => `line ${at} of the file`).join('\n')
const READS = [
  say('user', 'go'),
  toolCall('a', 'read', { path: 'a.ts' }),
  result('a', lines),
  say('assistant', 'and'),
  toolCall('b', 'read', { path: 'a.ts' }),
  result('b', lines),
  say('assistant', 'done'),
]
const WORDED = [
  say('user', 'go'),
  toolCall('a', 'shell'),
  result('a', `Read file src/a.ts\n${lines}`),
  say('assistant', 'and'),
  toolCall('b', 'shell'),
  result('b', `Read file src/a.ts\n${lines}`),
  say('assistant', 'done'),
]
/** Larger than gpt-4's window, 8,192, and one turn, so that only a cut helps. */
const HUGE = [say('user', units(5_000)), say('assistant', units(5_000))]

const PICTURES = Array.from({ length: 5 }, () => [
  { role: 'user' as const, content: [{ type: 'image' as const, image: 'aGk=' }] },
  say('assistant', 'seen'),
]).flat()

const PRUNING = { enableDeduplicate: false, enableSummarize: false, enableTruncate: false, targetTokens: 100 }
const PRUNES = { ...PRUNING, pruneProtectTokens: 0, pruneMinimumSavings: 0 }
const DEDUPLICATES = { enablePrune: false, enableSummarize: false, enableTruncate: false, targetTokens: 10 }
const SUMMARIZES = {
  enablePrune: false,
  enableDeduplicate: false,
  enableTruncate: false,
  targetTokens: 1_000,
}
const TRUNCATES = {
  enablePrune: false,
  enableDeduplicate: false,
  enableSummarize: false,
  targetTokens: 1_000,
}

function model(answer: (request: SummaryRequest) => string | Promise<string>): Summarizer {
  return { name: 'spy', usesModel: true, summarize: async (request) => ({ text: await answer(request) }) }
}

async function run({ store, call }: Trial, options: CompactOptions): Promise<CompactionResult> {
  return (await store.compactSession(S, { ...options, ...call }))!
}

const stagesUsed =
  (options: CompactOptions) =>
  async (trial: Trial): Promise<unknown> =>
    (await run(trial, options)).stagesUsed

/** Whether an append shows an output as a preview. */
async function previewed(store: Store, output: string): Promise<boolean> {
  return (await store.append(S, [toolCall('large', 'run'), result('large', output)])).preview !== undefined
}

/** What the summarizer is asked for. */
async function request(trial: Trial): Promise<SummaryRequest> {
  let asked: SummaryRequest | undefined
  const summarizer = model((one) => {
    asked = one
    return 'Short.'
  })
  await run(trial, { ...SUMMARIZES, summarizer })
  return asked!
}

const summarized = (options: CompactOptions) => (trial: Trial) =>
  run(trial, { ...SUMMARIZES, summarizer: model(() => 'Short.'), ...options })

/** Messages of the log that are visible after a run. */
async function left(result: Promise<CompactionResult>): Promise<number> {
  return (await result).messages.filter(({ kind }) => kind === 'message').length
}

async function stats({ store }: Trial, ...of: [] | [string, string]): Promise<Record<string, unknown>> {
  return (await store.getContextStats(S, ...of)) as unknown as Record<string, unknown>
}

/** How many jobs there are after a turn, under further settings of the session. */
async function jobsAfter({ store }: Trial, config: Settings, turn: BeforeTurnOptions): Promise<number> {
  const before = (await store.sessions.get(S)).config
  await store.sessions.update(S, { config: { ...before, ...(config as object) } })
  await beforeTurn(store, S, turn)
  await store.jobs.whenIdle(S)
  return (await store.jobs.list(S)).length
}

const isDue = ({ store }: Trial): unknown => store.needsCompaction(S, 'openai', 'gpt-4')
const available = async (trial: Trial): Promise<unknown> =>
  (await stats(trial, 'openai', 'gpt-4')).availableInputTokens

async function withSummary({ store }: Trial): Promise<Rendering['messages']> {
  await store.compactSession(S, { range: { from: 3, to: 4 }, summary: 'They talked.' })
  return (await store.renderHistory(S)).messages
}
const summaryIn = (messages: Rendering['messages']): number =>
  messages.findIndex(({ content }) => typeof content === 'string' && content.includes('They talked.'))

async function marker(trial: Trial): Promise<Rendering['messages'][number]> {
  await trial.store.compactSession(S, TRUNCATES)
  // Behind the first exchange.
  return (await trial.store.renderHistory(S)).messages[2]!
}

async function firstOutput(trial: Trial): Promise<unknown> {
  const { messages } = await run(trial, PRUNES)
  const [part] = partsOf(messages[2]!)
  return part?.type === 'tool-result' ? part.output : part
}

const later = (text: string): Promise<string> =>
  new Promise((resolve) => setTimeout(() => resolve(text), 100))

export const CASES: { readonly [K in SettingName]-?: Case & { readonly value: LayerValues[K] } } = {
  preset: {
    value: 'neuron',
    layers: ['store', 'session'],
    see: async (trial) => summaryIn(await withSummary(trial)),
    // Behind the first exchange, or behind the system messages, of which there are none.
    expected: [2, 0],
  },
  estimator: {
    value: 'nca',
    see: async ({ store }) => (await store.sessions.get(S)).estimator,
    expected: ['neurolink', 'nca'],
  },
  enabled: {
    value: false,
    see: async ({ store }) => [
      (await store.getContextStats(S)) === null,
      store.needsCompaction(S, 'openai', 'gpt-4', { threshold: 0 }),
      (await store.compactSession(S)) === null,
      (await store.previewCompaction(S)) === null,
    ],
    expected: [
      [false, true, false, false],
      [true, false, true, true],
    ],
  },
  auto: {
    value: false,
    see: async ({ store }) => (await beforeTurn(store, S, { threshold: 0, compaction: TRUNCATES })).compacted,
    expected: [true, false],
  },
  warningLevels: {
    value: [0.4],
    see: async ({ store }) =>
      (await beforeTurn(store, S, { provider: 'openai', model: 'gpt-4' })).warning?.level,
    // 45 % is below the lowest level by default.
    expected: [undefined, 0.4],
  },
  autoCompactOnFinish: {
    value: true,
    talk: HUGE,
    see: async ({ store }) => {
      await store.sessions.update(S, { provider: 'openai', model: 'gpt-4' })
      await store.sessions.archive(S)
      return (await store.listCompactions(S)).length > 0
    },
    expected: [false, true],
  },
  retention: {
    value: { archived: { olderThanDays: 0, pinned: false } },
    see: async ({ store }) => {
      await store.sessions.archive(S)
      const report = await store.privacy.applyRetention({ now: Date.now() + 1_000, dryRun: true })
      return report.archived.sessions
    },
    expected: [0, 1],
  },
  maxNotes: {
    value: 1,
    see: async ({ store }) => {
      for (const text of ['one', 'two']) await store.notes.add(text, { session: S })
      return (await store.notes.list({ session: S })).map(({ text }) => text)
    },
    expected: [['two', 'one'], ['two']],
  },
  background: {
    value: true,
    // 128,000 less 124,800 leaves 3,200: 2,404 tokens are 75 % of it, over the soft threshold and below the hard one.
    see: (trial) => jobsAfter(trial, {}, { maxOutputTokens: 124_800 }),
    expected: [0, 1],
  },
  backgroundThreshold: {
    value: 0.01,
    see: (trial) => jobsAfter(trial, { background: true }, {}),
    expected: [0, 1],
  },
  backgroundMinIntervalMs: {
    value: 0,
    see: async (trial) => {
      await jobsAfter(trial, { background: true, backgroundThreshold: 0.01 }, {})
      return jobsAfter(trial, {}, {})
    },
    expected: [1, 2],
  },
  circuitResetMs: {
    value: 60_000,
    see: async ({ store }) => {
      let openUntil = 0
      store.on('circuit', (event) => {
        openUntil = event.openUntil
      })
      const before = Date.now()
      const summarizer = model(() => Promise.reject(new Error('no')))
      for (let run = 1; run <= 3; run++)
        await store.compactSession(S, { ...SUMMARIZES, summarizer, trigger: 'auto' })
      // Five minutes by default.
      return openUntil > before && openUntil - before < 200_000
    },
    expected: [false, true],
  },
  spendLimits: {
    value: { calls: 0 },
    see: async (trial) => {
      let asked = 0
      const summarizer = model(() => {
        asked += 1
        return 'Short.'
      })
      await run(trial, { ...SUMMARIZES, summarizer, trigger: 'auto' })
      return asked
    },
    expected: [1, 0],
  },
  contextManagement: {
    value: { edits: [{ type: 'compact_20260112' }] },
    see: async ({ store }) => (await beforeTurn(store, S)).contextManagement,
    expected: [undefined, { edits: [{ type: 'compact_20260112' }] }],
  },

  // gpt-4: 8,192 less 35 % of it, rounded up, is 5,324. 20 × 119 + 24 = 2,404 is 45 % of that.
  threshold: { value: 0.45, layers: ['store', 'session'], see: isDue, expected: [false, true] },
  thresholdTokens: { value: 2_400, see: isDue, expected: [false, true] },
  autoSummarizeThreshold: { value: 45, see: isDue, expected: [false, true] },
  maxOutputTokens: { value: 1_000, layers: ['store', 'session'], see: available, expected: [5_324, 7_192] },
  contextWindowTarget: {
    value: 2_000,
    layers: ['store', 'session'],
    see: available,
    expected: [5_324, 2_000],
  },
  contextWindows: {
    value: { openai: 50_000 },
    see: async (trial) => (await stats(trial)).contextWindow,
    expected: [
      { tokens: 128_000, source: 'registry', entry: '_default' },
      expect.objectContaining({ tokens: 50_000, entry: '_default' }),
    ],
  },
  provider: {
    value: 'anthropic',
    layers: ['store'],
    see: async (trial) => (await stats(trial)).provider,
    expected: ['openai', 'anthropic'],
  },
  model: {
    value: 'gpt-4',
    layers: ['store'],
    see: async (trial) => (await stats(trial)).model,
    expected: [undefined, 'gpt-4'],
  },

  target: {
    value: 0.5,
    see: async (trial) => (await run(trial, { provider: 'openai', model: 'gpt-4' })).targetTokens,
    // 5,324 × 0.4 and × 0.5, rounded down.
    expected: [2_129, 2_662],
  },
  targetTokens: {
    value: 1_000,
    see: async (trial) => (await run(trial, { provider: 'openai', model: 'gpt-4' })).targetTokens,
    expected: [2_129, 1_000],
  },
  stages: {
    value: ['truncate'],
    see: stagesUsed({ targetTokens: 1_000 }),
    expected: [['summarize'], ['truncate']],
    isRead: Object.hasOwn(compactionConfigSchema.shape, 'stages'),
  },
  maxRetainedMessages: {
    value: 4,
    see: (trial) => left(run(trial, { ...TRUNCATES, truncationFraction: 0.5 })),
    // Of 18 messages behind the first pair a half, made even: 8 go. Or the last 4 stay.
    expected: [12, 4],
    isRead: STAGE_NAMES.includes('sliding_window'),
  },

  enableMedia: {
    value: false,
    talk: PICTURES,
    see: async (trial) => (await run(trial, { trigger: 'auto', mediaLimits: { images: 5 } })).stagesUsed,
    expected: [['media'], []],
  },
  enablePrune: { value: false, talk: TOOLS, see: stagesUsed(PRUNES), expected: [['prune'], []] },
  // 6,900 tokens of outputs: a quarter of 83,200 protects more, and a tenth of it, 8,320, is not saved.
  minimumSavings: {
    value: 0,
    // Two of twenty messages, 238 tokens, less 0.115 of the 1,928 behind the first exchange; 5 % of 2,404 are 120.
    see: async (trial) => (await run(trial, { ...TRUNCATES, targetTokens: 2_300, trigger: 'auto' })).reason,
    expected: ['SAVES_TOO_LITTLE', undefined],
  },
  pruneProtectTokens: {
    value: 0,
    talk: TOOLS,
    see: stagesUsed({ ...PRUNING, pruneMinimumSavings: 0 }),
    expected: [[], ['prune']],
  },
  pruneMinimumSavings: {
    value: 0,
    talk: TOOLS,
    see: stagesUsed({ ...PRUNING, pruneProtectTokens: 0 }),
    expected: [[], ['prune']],
  },
  pruneProtectedTools: { value: ['run'], talk: TOOLS, see: stagesUsed(PRUNES), expected: [['prune'], []] },
  pruneFailedResults: {
    value: true,
    talk: FAILED_TOOLS,
    see: stagesUsed(PRUNES),
    expected: [[], ['prune']],
  },
  prunePlaceholder: {
    value: '(gone)',
    talk: TOOLS,
    see: firstOutput,
    expected: [
      { type: 'text', value: '[Tool result cleared]' },
      { type: 'text', value: '(gone)' },
    ],
  },

  enableDeduplicate: {
    value: false,
    talk: READS,
    see: stagesUsed(DEDUPLICATES),
    expected: [['deduplicate'], []],
  },
  userTools: { value: ['run'], talk: TOOLS, see: stagesUsed(PRUNES), expected: [['prune'], []] },
  readTools: { value: ['look'], talk: READS, see: stagesUsed(DEDUPLICATES), expected: [['deduplicate'], []] },
  pathArguments: {
    value: ['where'],
    talk: READS,
    see: stagesUsed(DEDUPLICATES),
    expected: [['deduplicate'], []],
  },
  // One of two equal reads goes: a half of their size, less what stands in its place.
  deduplicateMinimumSavings: {
    value: 0.5,
    talk: READS,
    see: stagesUsed(DEDUPLICATES),
    expected: [['deduplicate'], []],
  },
  deduplicateByText: {
    value: false,
    talk: WORDED,
    see: stagesUsed(DEDUPLICATES),
    expected: [['deduplicate'], []],
  },

  enableSummarize: { value: false, see: stagesUsed(SUMMARIZES), expected: [['summarize'], []] },
  enableAutoSummarize: {
    value: false,
    see: stagesUsed({ ...SUMMARIZES, trigger: 'auto' }),
    expected: [['summarize'], []],
  },
  summarizer: {
    value: model(() => 'Short.'),
    layers: ['store', 'call'],
    see: async (trial) => {
      await run(trial, SUMMARIZES)
      return (await trial.store.listCompactions(S)).map(({ summarizer }) => summarizer)
    },
    expected: [[extractiveSummarizer.name], ['spy']],
  },
  summarizationProvider: {
    value: 'vertex',
    see: async (trial) => (await request(trial)).provider,
    expected: [undefined, 'vertex'],
  },
  summarizationModel: {
    value: 'gemini-2.5-flash',
    see: async (trial) => (await request(trial)).model,
    expected: [undefined, 'gemini-2.5-flash'],
  },
  summarySections: {
    value: ['Only this'],
    see: async (trial) => (await request(trial)).sections.length,
    expected: [10, 1],
  },
  summaryMaxTokens: {
    value: 77,
    see: async (trial) => (await request(trial)).maxTokens <= 77,
    expected: [false, true],
  },
  summaryTimeoutMs: {
    value: 1,
    see: async (trial) => {
      const { failed } = await run(trial, { ...SUMMARIZES, summarizer: model(() => later('Short.')) })
      return failed.map(({ error }) => error)
    },
    expected: [[], ['SUMMARY_TIMEOUT']],
  },
  offlineFallback: {
    value: true,
    see: async (trial) => {
      const summarizer = model(() => Promise.reject(new Error('no')))
      return (await run(trial, { ...SUMMARIZES, summarizer })).stagesUsed
    },
    expected: [[], ['summarize']],
  },
  // 1,000 tokens less 600 for the summary have room for three messages of 119, 500 for two whole turns.
  keepRecentTokens: { value: 500, see: (trial) => left(summarized({})(trial)), expected: [3, 4] },
  mediaLimits: {
    value: { images: 2 },
    talk: PICTURES,
    see: async (trial) => (await run(trial, { trigger: 'auto' })).stagesUsed,
    expected: [[], ['media']],
  },
  keepRecentMedia: {
    value: 1,
    talk: PICTURES,
    see: async (trial) => {
      const { messages } = await run(trial, { trigger: 'auto', mediaLimits: { images: 5 } })
      return messages.flatMap(partsOf).filter(({ type }) => type === 'image').length
    },
    // Two of five are the target.
    expected: [3, 2],
  },
  keepRecentRatio: { value: 0.5, see: (trial) => left(summarized({})(trial)), expected: [3, 10] },

  enableTruncate: { value: false, see: stagesUsed(TRUNCATES), expected: [['truncate'], []] },
  truncationFraction: {
    value: 0.5,
    see: async (trial) => (await left(run(trial, TRUNCATES))) === 12,
    expected: [false, true],
  },
  truncationOrder: {
    value: 'importance',
    talk: TALK.with(4, say('user', `You must never delete files. ${units(90)}`)),
    see: async (trial) =>
      (await run(trial, TRUNCATES)).messages.some(({ content }) => String(content).startsWith('You must')),
    expected: [false, true],
  },
  truncationMarker: {
    value: '(cut)',
    see: async (trial) => (await run(trial, TRUNCATES)).messages[2]!.content,
    expected: [TRUNCATION_MARKER, '(cut)'],
  },
  emergencyCut: {
    value: false,
    talk: HUGE,
    see: async (trial) => (await run(trial, { provider: 'openai', model: 'gpt-4' })).fits,
    expected: [true, false],
  },

  summaryRole: {
    value: 'assistant',
    see: async (trial) => (await withSummary(trial))[2]!.role,
    expected: ['user', 'assistant'],
  },
  summaryHeader: {
    value: 'Before:',
    see: async (trial) => (await withSummary(trial))[2]!.content,
    expected: [asRecord('They talked.'), 'Before:\n\nThey talked.'],
  },
  summaryPlace: {
    value: 'first',
    see: async (trial) => summaryIn(await withSummary(trial)),
    expected: [2, 0],
  },
  markerRole: {
    value: 'user',
    see: async (trial) => (await marker(trial)).role,
    expected: ['system', 'user'],
  },
  markerText: {
    value: '[…]',
    see: async (trial) => (await marker(trial)).content,
    expected: [TRUNCATION_MARKER, '[…]'],
  },

  previewToolOutputs: {
    value: false,
    see: ({ store }) => previewed(store, 'x'.repeat(60_000)),
    expected: [true, false],
  },
  maxToolOutputBytes: {
    value: 300,
    see: ({ store }) => previewed(store, 'x'.repeat(1_000)),
    expected: [false, true],
  },
  maxToolOutputLines: {
    value: 3,
    see: ({ store }) => previewed(store, 'a line of a log\n'.repeat(100)),
    expected: [false, true],
  },

  // Read by functions that know no store; the application hands it on.
  fileReadBudgetPercent: {
    value: 0.5,
    see: async ({ store }) => {
      const { fileReadBudgetPercent: percent } = (await store.sessions.config(S)).settings
      return calculateFileTokenBudget(1_000, 0, 0, { percent })
    },
    expected: [600, 500],
  },
}
