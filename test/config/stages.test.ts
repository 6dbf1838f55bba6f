import { describe, expect, it } from 'vitest'
import { clearToolResults, composite, slidingWindow, summarizeOlder } from '../../src/compat/arrays/index.ts'
import { hierarchicalSummaries } from '../../src/core/stages/hierarchical-summaries.ts'
import { STAGE_NAMES } from '../../src/core/stages/registry.ts'
import { openStore, type Stage } from '../../src/index.ts'
import { Configuration } from '../../src/store/config/resolve.ts'
import { runConfig } from '../../src/store/config/run-config.ts'
import type { CheckedCall, Layer } from '../../src/store/config/settings.ts'
import { compactionConfigSchema } from '../../src/store/config/settings.ts'
import { type StageSwitch, stagesOf, withWindow } from '../../src/store/config/stages.ts'
import { saying } from '../plain/support.ts'
import { chat } from '../support/conversation.ts'
import { S } from './cases.ts'

const ON: ReadonlySet<StageSwitch> = new Set()
const QUIET: ReadonlySet<StageSwitch> = new Set(['enableSummarize'])
const DEFAULTS = { retained: 50, placeholder: undefined }
const own = { name: 'mine', plan: () => undefined }

/** Names of the stages a run would have. */
function namesOf(layers: readonly Layer[], call: object = {}): unknown {
  const config = runConfig(new Configuration(layers), { config: undefined }, call as CheckedCall)
  return config?.pipeline.map(({ name }) => name)
}

const PIPELINE = ['prune', 'deduplicate', 'summarize', 'truncate', 'cut']

describe('the stages of a run', () => {
  it('are the given composition, without what is switched off', () => {
    const layer = (values: object): Layer[] => [{ source: 'store', values }]
    expect(namesOf([])).toEqual(['media', ...PIPELINE])
    expect(namesOf(layer({ stages: PIPELINE }))).toEqual(PIPELINE)
    expect(namesOf(layer({ stages: PIPELINE, enablePrune: false, enableSummarize: false }))).toEqual([
      'deduplicate',
      'truncate',
      'cut',
    ])
    expect(namesOf(layer({ stages: PIPELINE, enableTruncate: false }))).toEqual([
      'prune',
      'deduplicate',
      'summarize',
    ])
    expect(namesOf(layer({ stages: PIPELINE, emergencyCut: false }))).toEqual(PIPELINE.slice(0, 4))
    expect(namesOf(layer({ stages: [own, 'cut'] }))).toEqual(['mine', 'cut'])
  })

  it('are kept as given against switches of less weight', () => {
    const layers: Layer[] = [
      { source: 'store', values: { stages: ['prune', 'truncate'] } },
      { source: 'file', values: { enablePrune: false } },
    ]
    expect(namesOf(layers)).toEqual(['prune', 'truncate'])
    expect(namesOf(layers, { enablePrune: false })).toEqual(['truncate'])
    expect(namesOf(layers, { stages: ['deduplicate'] })).toEqual(['deduplicate'])
  })

  it('write no summary by themselves where that is switched off (S4-22)', () => {
    const values = { stages: PIPELINE, enableAutoSummarize: false }
    const layers: Layer[] = [{ source: 'store', values }]
    expect(namesOf(layers, { trigger: 'auto' })).toEqual([])
    const wanted: Layer[] = [{ source: 'store', values: { ...values, auto: true } }]
    expect(namesOf(wanted, { trigger: 'auto' })).toEqual(['prune', 'deduplicate', 'truncate', 'cut'])
    expect(namesOf(layers, { trigger: 'manual' })).toEqual(PIPELINE)
  })

  it('have a window before the truncation when a number of messages is given', () => {
    expect(withWindow(['prune', 'truncate', 'cut'])).toEqual(['prune', 'sliding_window', 'truncate', 'cut'])
    expect(withWindow([own])).toEqual([own, 'sliding_window'])
    expect(withWindow([{ stage: 'sliding_window', last: 5 }])).toEqual([{ stage: 'sliding_window', last: 5 }])
  })

  it('have it within a composite as well, and none where a composite has one', () => {
    const within = (...stages: unknown[]): never => ({ stage: 'composite', stages }) as never
    const window = { stage: 'sliding_window', summarize: true }
    expect(withWindow(['prune', within('prune', within('summarize')), 'cut'])).toEqual([
      'prune',
      within('prune', within(window)),
      'cut',
    ])
    expect(withWindow([within('prune', 'truncate')])).toEqual([within('prune', 'sliding_window', 'truncate')])
    expect(withWindow([within(within('sliding_window'))])).toEqual([within(within('sliding_window'))])
    const value = composite({ stages: [clearToolResults({ keep: 1 }), summarizeOlder({ keepLast: 2 })] })
    expect(withWindow([value, 'cut'])).toEqual([value, 'sliding_window', 'cut'])
    const holding = composite({ stages: [slidingWindow({ last: 3 })] })
    expect(withWindow([holding])).toEqual([holding])
  })

  it('that are windows in composites keep the number that is given for all', async () => {
    const stages = [{ stage: 'composite', stages: ['prune', 'sliding_window'] }]
    await using store = await openStore(':memory:', {
      env: false,
      estimator: 'neurolink',
      config: { stages, maxRetainedMessages: 3 },
    })
    await store.append(S, chat(10, 100))
    expect((await store.compactSession(S, { targetTokens: 500 }))!.messages).toHaveLength(3)
  })

  it('given as values are switched off like those by name, within composites too', () => {
    const off = (stage: Stage, ...switches: StageSwitch[]): unknown[] =>
      stagesOf([stage], new Set(switches), DEFAULTS).map((one) =>
        'stages' in one ? one.stages.map(({ name }) => name) : one.name,
      )
    const custom: Stage = { name: 'my_digest', summaries: () => [] }
    const quiet = 'enableSummarize'
    for (const stage of [custom, summarizeOlder({ keepLast: 2 }), hierarchicalSummaries()]) {
      expect(off(stage)).toHaveLength(1)
      expect(off(stage, quiet)).toEqual([])
    }
    const window = slidingWindow({ last: 2, summarize: true })
    expect(off(window, quiet)).toEqual(['sliding_window'])
    expect(off(window, quiet, 'enableTruncate')).toEqual([])
    expect(off(window, 'enableTruncate')).toEqual(['sliding_window_with_summary'])

    const both = composite({
      stages: [clearToolResults({ keep: 1 }), custom, composite({ stages: [window] })],
    })
    expect(stagesOf([both], ON, DEFAULTS)[0]).toBe(both)
    expect(off(both, 'enablePrune')).toEqual([['my_digest', 'composite']])
    expect(off(both, quiet)).toEqual([['clear_tool_results', 'composite']])
    expect(off(both, 'enablePrune', quiet, 'enableTruncate')).toEqual([])
  })

  it.each([
    ['summaries are off', { enableSummarize: false }, {}],
    [
      'none is to be written by itself',
      { enableAutoSummarize: false, auto: true },
      { trigger: 'auto' as const },
    ],
  ])('request no summary when %s, and the window replaces it', async (_, settings, call) => {
    const summarizer = saying('What happened.')
    for (const stage of [
      slidingWindow({ last: 2, summarize: true }),
      composite({ stages: [slidingWindow({ last: 2, summarize: true })] }),
    ]) {
      await using store = await openStore(':memory:', {
        env: false,
        config: { stages: [stage], summarizer, ...settings },
      })
      await store.append(S, chat(5, 100))
      const run = await store.compactSession(S, { targetTokens: 1, ...call })
      expect(run!.messages.map(({ kind }) => kind)).toEqual(['message', 'message'])
    }
    expect(summarizer.asked).toEqual([])
  })

  it.runIf(STAGE_NAMES.includes('sliding_window'))(
    'that are windows keep what is given, without summaries where none may be',
    () => {
      const spec = [{ stage: 'sliding_window', summarize: true }, 'cut'] as const
      expect(stagesOf(spec, ON, DEFAULTS)).toHaveLength(2)
      const plain = stagesOf(spec, QUIET, DEFAULTS)[0]!
      expect(plain.name).toBe('sliding_window')
      expect(plain).not.toHaveProperty('summaries')
      // The cut truncates too.
      expect(stagesOf(spec, new Set<StageSwitch>([...QUIET, 'enableTruncate']), DEFAULTS)).toEqual([])
    },
  )

  it.runIf(Object.hasOwn(compactionConfigSchema.shape, 'stages'))('of a session do their work', async () => {
    await using store = await openStore(':memory:', { env: false, config: { stages: ['prune'] } })
    await store.sessions.create({ id: S, config: { stages: ['truncate', 'cut'] } })
    await store.append(S, chat(10, 100))
    expect((await store.compactSession(S, { targetTokens: 1_000 }))!.stagesUsed).toEqual(['truncate'])
  })

  it('are named in full where one is unknown', async () => {
    await using store = await openStore(':memory:', { env: false })
    const compaction = store.compactSession(S, { stages: ['nonsense'] })
    await expect(compaction).rejects.toThrow(`stage must be one of ${STAGE_NAMES.join(', ')}`)
  })
})
