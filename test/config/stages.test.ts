import { describe, expect, it } from 'vitest'
import { compactionConfigSchema } from '../../src/compaction/config.ts'
import { configurationOf } from '../../src/config/configuration.ts'
import { runConfig } from '../../src/config/run-config.ts'
import type { CheckedCall, Layer } from '../../src/config/settings.ts'
import { stagesOf, withWindow } from '../../src/config/stages.ts'
import { STAGE_NAMES } from '../../src/core/stages/registry.ts'
import { openStore } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { S } from './cases.ts'

const ON = { prune: true, deduplicate: true, summarize: true, truncate: true, cut: true }
const DEFAULTS = { retained: 50, placeholder: undefined }
const own = { name: 'mine', plan: () => undefined }

/** Names of the stages a run would have; `undefined` for the pipeline of seed 003 by its switches. */
function namesOf(layers: readonly Layer[], call: object = {}): unknown {
  const config = runConfig(configurationOf(layers), { config: undefined }, call as CheckedCall)
  return (config as { stages?: readonly { name: string }[] }).stages?.map(({ name }) => name)
}

const PIPELINE = ['prune', 'deduplicate', 'summarize', 'truncate', 'cut']

describe('the stages of a run', () => {
  it('are the composition that is said, without what is switched off', () => {
    const layer = (values: object): Layer[] => [{ source: 'store', values }]
    expect(namesOf([])).toBeUndefined()
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

  it('stand as they are said against switches of less weight', () => {
    const layers: Layer[] = [
      { source: 'store', values: { stages: ['prune', 'truncate'] } },
      { source: 'file', values: { enablePrune: false } },
    ]
    expect(namesOf(layers)).toEqual(['prune', 'truncate'])
    expect(namesOf(layers, { enablePrune: false })).toEqual(['truncate'])
    expect(namesOf(layers, { stages: ['deduplicate'] })).toEqual(['deduplicate'])
  })

  it('write no summary by themselves where that is switched off (S4-22)', () => {
    const layers: Layer[] = [{ source: 'store', values: { stages: PIPELINE, enableAutoSummarize: false } }]
    expect(namesOf(layers, { trigger: 'auto' })).toEqual(['prune', 'deduplicate', 'truncate', 'cut'])
    expect(namesOf(layers, { trigger: 'manual' })).toEqual(PIPELINE)
  })

  it('are the same objects for the same settings, so that two requests can be one', () => {
    const first = stagesOf(['prune', own], ON, DEFAULTS)
    const second = stagesOf([{ stage: 'prune' }, own], ON, DEFAULTS)
    expect(first[0]).toBe(second[0])
    expect(first[1]).toBe(second[1])
  })

  it('get a window before the truncation when a number of messages is said', () => {
    expect(withWindow(['prune', 'truncate', 'cut'])).toEqual(['prune', 'sliding_window', 'truncate', 'cut'])
    expect(withWindow([own])).toEqual([own, 'sliding_window'])
    expect(withWindow([{ stage: 'sliding_window', last: 5 }])).toEqual([{ stage: 'sliding_window', last: 5 }])
  })

  it.runIf(STAGE_NAMES.includes('sliding_window'))(
    'that are windows keep what is said, plain where no summary may be',
    () => {
      const spec = [{ stage: 'sliding_window', summarize: true }, 'cut'] as const
      expect(stagesOf(spec, ON, DEFAULTS)).toHaveLength(2)
      const [plain] = stagesOf(spec, { ...ON, summarize: false }, DEFAULTS)
      expect(plain).toBe(stagesOf([{ stage: 'sliding_window', last: 50 }], ON, DEFAULTS)[0])
      expect(
        stagesOf(spec, { ...ON, summarize: false, truncate: false }, DEFAULTS).map(({ name }) => name),
      ).toEqual(['cut'])
    },
  )

  it.runIf(Object.hasOwn(compactionConfigSchema.shape, 'stages'))('of a session do their work', async () => {
    await using store = await openStore(':memory:', { env: false, config: { stages: ['prune'] } })
    await store.createSession({ id: S, config: { stages: ['truncate', 'cut'] } })
    await store.append(S, chat(10, 100))
    expect((await store.compactSession(S, { targetTokens: 1_000 }))!.stagesUsed).toEqual(['truncate'])
  })
})
