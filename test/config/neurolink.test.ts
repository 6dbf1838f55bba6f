import { describe, expect, it } from 'vitest'
import { DEDUP_THRESHOLD, PRUNE_PLACEHOLDER, TRUNCATION_MARKER } from '../../src/compat/arrays/index.ts'
import { beforeTurn } from '../../src/compat/index.ts'
import {
  type CompactOptions,
  type NewMessage,
  openStore,
  type Settings,
  type Store,
  type Summarizer,
} from '../../src/index.ts'
import { failing, saying } from '../plain/support.ts'
import { call, chat, failure, result, say, units } from '../support/conversation.ts'
import { S } from './cases.ts'

/* The pipeline of the preset `neurolink` as a store runs it, chosen by name. Figures are its documentation's. */

function neurolink(config: Settings = {}): Promise<Store> {
  return openStore(':memory:', { env: false, config: { preset: 'neurolink', ...config } })
}

/** Target 1: every stage runs as far as its own rule goes. */
function only(stage: 'Prune' | 'Deduplicate' | 'Summarize' | 'Truncate'): CompactOptions {
  const stages = ['Prune', 'Deduplicate', 'Summarize', 'Truncate']
  const switches = stages.map((name) => [`enable${name}`, name === stage])
  return { targetTokens: 1, ...Object.fromEntries(switches) }
}

/** What the view shows, one text a message. */
async function shown(store: Store): Promise<string[]> {
  const view = await store.getEffectiveHistory(S)
  return view.map(({ content }) => {
    if (typeof content === 'string') return content
    const [part] = content
    if (part?.type === 'text') return part.text
    return part?.type === 'tool-result' && part.output.type === 'text'
      ? part.output.value
      : (part?.type ?? '')
  })
}

/** Calls with outputs of 4,000 units: 4,600 tokens each by the formula. A placeholder of 21 characters takes 7. */
function outputs(count: number, tool = 'run', output = result): NewMessage[] {
  const used = (at: number): NewMessage[] => [
    call(`${tool}${at}`, tool),
    output(`${tool}${at}`, units(4_000)),
    say('assistant', `${tool} ${at}`),
  ]
  return [say('user', 'go'), ...Array.from({ length: count }, (_, at) => used(at)).flat()]
}

describe('the preset neurolink', () => {
  it('counts by the formula, also through the settings of a session, unless an estimator is given', async () => {
    await using store = await neurolink()
    await store.append(S, [say('user', 'x'.repeat(1_001))])
    // ceil(ceil(1,001 / 4) × 1.15) + 4 + 24
    expect((await store.getContextStats(S))!.estimatedInputTokens).toBe(317)
    await using other = await openStore(':memory:', { env: false, estimator: 'nca' })
    expect((await other.sessions.create({ config: { preset: 'neurolink' } })).estimator).toBe('nca')
    await using plain = await openStore(':memory:', { env: false })
    expect((await plain.sessions.create({ config: { preset: 'neurolink' } })).estimator).toBe('neurolink')
  })

  it('stops as soon as a stage brings the request under the threshold at which it was started [S3-097]', async () => {
    const summarizer = saying('short')
    // 46,592 available of 71,680: 80 percent are 37,273. Of 15 outputs 6 are cleared: 41,000 to 42,000 are left.
    await using store = await neurolink({ contextWindows: { openai: 71_680 }, summarizer })
    await store.append(S, outputs(15))
    const before = (await store.getContextStats(S))!
    expect([before.availableInputTokens, before.shouldCompact]).toEqual([46_592, true])
    const run = (await store.compactSession(S))!
    expect(run.targetTokens).toBe(37_273)
    expect(run.stagesUsed).toEqual(['prune', 'summarize'])
    // With a larger window pruning is enough.
    await store.undoCompaction(S, run.runId)
    const second = (await store.compactSession(S, { targetTokens: 43_000 }))!
    expect(second.stagesUsed).toEqual(['prune'])
    expect(summarizer.asked).toHaveLength(1)
  })
})

describe('a run that a caller requests with the preset neurolink', () => {
  // 30 messages: 30 × (100 or 101 units × 1.15 + 4) + 24 are 3,594 to 3,630 tokens, 67 or 68 percent of the 5,324 of gpt-4.
  const talk = chat(15, 100)

  it('compacts below 80 percent, to 60 percent, where no automatic run starts [S3-044]', async () => {
    await using store = await neurolink({ summarizer: saying('They talked.') })
    await store.sessions.create({ id: S, model: 'gpt-4' })
    await store.append(S, talk)
    const { usageRatio, shouldCompact } = (await store.getContextStats(S))!
    expect(usageRatio).toBeGreaterThan(0.6)
    expect([usageRatio < 0.7, shouldCompact]).toEqual([true, false])
    expect((await beforeTurn(store, S)).compacted).toBe(false)
    expect(await store.compactSession(S, { trigger: 'auto' })).toMatchObject({ reason: 'NOTHING_TO_COMPACT' })
    const preview = (await store.previewCompaction(S))!
    const run = (await store.compactSession(S))!
    // floor(0.6 × 5,324); ceil(30 × 0.3) = 9 messages and the summary.
    expect(run).toMatchObject({ compacted: true, targetTokens: 3_194, reachedTarget: true })
    expect(preview.targetTokens).toBe(3_194)
    expect(await store.getEffectiveHistory(S)).toHaveLength(10)
  })

  it('aims at a target that any layer gives, and below a threshold at three quarters of it', async () => {
    const targetOf = async (config: Settings, options: CompactOptions = {}): Promise<number> => {
      await using store = await neurolink(config)
      await store.sessions.create({ id: S, model: 'gpt-4' })
      await store.append(S, talk)
      return (await store.compactSession(S, options))!.targetTokens
    }
    // floor(0.5 × 5,324), also where the request is within the target.
    expect(await targetOf({ target: 0.5 })).toBe(2_662)
    expect(await targetOf({}, { target: 0.5 })).toBe(2_662)
    expect(await targetOf({ target: 0.75 })).toBe(3_993)
    // The talk is below 0.7 and above 0.4: floor(0.75 × 0.7 × 5,324), and floor(0.4 × 5,324).
    expect(await targetOf({ threshold: 0.7 })).toBe(2_795)
    expect(await targetOf({}, { threshold: 0.7 })).toBe(2_795)
    expect(await targetOf({ threshold: 0.4 })).toBe(2_129)
  })
})

describe('stage 1 of the preset neurolink', () => {
  it('protects the newest 40,000 tokens and clears what is older [S3-098 S3-099 S3-106]', async () => {
    await using store = await neurolink()
    await store.append(S, outputs(14))
    const before = await shown(store)
    const run = (await store.compactSession(S, only('Prune')))!
    // Nine are protected: before the ninth 36,800 are, before the tenth 41,400.
    expect(run.tokensSaved).toBeGreaterThan(22_900)
    const cleared = [2, 5, 8, 11, 14]
    expect(await shown(store)).toEqual(
      before.map((text, at) => (cleared.includes(at) ? PRUNE_PLACEHOLDER : text)),
    )
    expect(PRUNE_PLACEHOLDER).toBe('[Tool result cleared]')
  })

  it('clears the outputs of failed calls like all others, unless a layer keeps them [S3-098]', async () => {
    await using store = await neurolink()
    await store.append(S, outputs(14, 'run', failure))
    const cleared = async (): Promise<number[]> => {
      const parts = (await store.getEffectiveHistory(S)).map(({ content }) => JSON.stringify(content))
      return parts.flatMap((text, at) => (text.includes(PRUNE_PLACEHOLDER) ? [at] : []))
    }
    const kept = await store.compactSession(S, { ...only('Prune'), pruneFailedResults: false })
    expect(kept!.compacted).toBe(false)
    await store.compactSession(S, only('Prune'))
    // The newest nine are protected.
    expect(await cleared()).toEqual([2, 5, 8, 11, 14])
    await using other = await openStore(':memory:', { env: false })
    await other.append(S, outputs(14, 'run', failure))
    expect((await other.compactSession(S, only('Prune')))!.compacted).toBe(false)
  })

  it('needs savings of 20,000 tokens [S3-100]', async () => {
    await using store = await neurolink()
    // Four cleared save 4 × (4,600 − 7) = 18,372.
    await store.append(S, outputs(13))
    expect((await store.compactSession(S, only('Prune')))!.compacted).toBe(false)
    const given = { ...only('Prune'), pruneMinimumSavings: 18_373 }
    expect((await store.compactSession(S, given))!.compacted).toBe(false)
    expect((await store.compactSession(S, { ...given, pruneMinimumSavings: 18_372 }))!.compacted).toBe(true)
  })

  it('leaves outputs of the tool "skill", which use up no protection [S3-101]', async () => {
    await using store = await neurolink()
    await store.append(S, [...outputs(3, 'skill'), ...outputs(14), ...outputs(2, 'skill')])
    const before = await shown(store)
    await store.compactSession(S, only('Prune'))
    const changed = (await shown(store)).flatMap((text, at) => (text === before[at] ? [] : [at]))
    expect(changed).toEqual([12, 15, 18, 21, 24])
  })

  it('counts for the provider of the session [S3-102]', async () => {
    await using store = await neurolink()
    // 4,000 units are 5,658 tokens for anthropic: eight are protected, six cleared of 14.
    await store.sessions.create({ id: S, provider: 'anthropic' })
    await store.append(S, outputs(14))
    await store.compactSession(S, only('Prune'))
    expect((await shown(store)).filter((text) => text === PRUNE_PLACEHOLDER)).toHaveLength(6)
  })
})

describe('stage 2 of the preset neurolink', () => {
  const text = (from: number, count: number): string =>
    Array.from({ length: count }, (_, at) => `line ${from + at} of the file`).join('\n')
  const read = (id: string, path: string, output: string): NewMessage[] => [
    call(id, 'read_file', { path }),
    result(id, output),
  ]

  it('keeps the latest read of each file [S3-107 S3-108 S3-111]', async () => {
    await using store = await neurolink()
    await store.append(S, [
      say('user', 'look'),
      ...read('a1', 'src/a.ts', text(1, 50)),
      ...read('b1', 'src/b.ts', text(1, 50)),
      ...read('a2', 'src/a.ts', text(1, 51)),
      ...read('a3', 'src/a.ts', text(1, 52)),
      ...read('b2', 'src/b.ts', text(1, 50)),
    ])
    const run = (await store.compactSession(S, only('Deduplicate')))!
    expect(run.stagesUsed).toEqual(['deduplicate'])
    const results = (await shown(store)).filter((one) => one !== 'look' && one !== 'tool-call')
    expect(results).toEqual([
      '[File src/a.ts - refer to latest read below]',
      '[File src/b.ts - refer to latest read below]',
      '[File src/a.ts - refer to latest read below]',
      text(1, 52),
      text(1, 50),
    ])
    const [compaction] = await store.listCompactions(S)
    expect(compaction!.params).toMatchObject({ files: 2, minimumSavings: DEDUP_THRESHOLD })
  })

  it('needs savings of 30 percent [S3-109 S3-110]', async () => {
    await using store = await neurolink()
    // 50 lines of 250: a fifth.
    const lines = [...read('a1', 'a.ts', text(1, 50)), ...read('a2', 'a.ts', text(1, 200))]
    await store.append(S, [say('user', 'look'), ...lines])
    expect((await store.compactSession(S, only('Deduplicate')))!.compacted).toBe(false)
  })

  it.each(['read', 'reading', 'read_file', 'readFile', 'Read file', 'cat'])(
    'knows a read by the word %s, quoted or not [S3-112]',
    async (word) => {
      await using store = await neurolink()
      const told = (path: string): string => `${word} ${path}\n${text(1, 50)}`
      await store.append(S, [
        say('user', 'look'),
        ...['src/a.ts', '"src/a.ts"', "'src/a.ts'", 'src/a.ts'].flatMap((path, at) => [
          call(`c${at}`, 'shell'),
          result(`c${at}`, told(path)),
        ]),
      ])
      await store.compactSession(S, only('Deduplicate'))
      const pointers = (await shown(store)).filter((one) => one.startsWith('[File src/a.ts - '))
      expect(pointers).toHaveLength(3)
    },
  )
})

describe('stage 3 of the preset neurolink', () => {
  it.each([
    [5, 4],
    [13, 4],
    [14, 5],
    [20, 6],
    [40, 12],
  ])(
    'of %i messages keeps the last %i after the summary [S3-115 S3-119 S3-122 S3-125]',
    async (count, kept) => {
      const summarizer = saying('They talked.')
      await using store = await neurolink({ summarizer })
      await store.append(S, chat(20, 100).slice(0, count))
      const before = await shown(store)
      const run = (await store.compactSession(S, only('Summarize')))!
      expect(run.stagesUsed).toEqual(['summarize'])
      expect(await shown(store)).toEqual(['They talked.', ...before.slice(count - kept)])
      expect(summarizer.asked).toHaveLength(1)
      const [summary] = run.messages
      expect(summary).toMatchObject({ role: 'system', kind: 'summary' })
    },
  )

  it('asks once for nine sections, of the provider and model that are set [S3-114 S3-116 S3-117 S3-118]', async () => {
    const summarizer = saying('They talked.')
    const config = { summarizationProvider: 'vertex', summarizationModel: 'gemini-2.5-flash' }
    await using store = await neurolink({ summarizer, ...config })
    await store.append(S, chat(10, 100))
    await store.compactSession(S, only('Summarize'))
    expect(summarizer.asked).toHaveLength(1)
    expect(summarizer.asked[0]).toMatchObject({ provider: 'vertex', model: 'gemini-2.5-flash' })
    expect(summarizer.asked[0]!.sections).toHaveLength(9)
  })

  it('leaves four messages alone and asks no model [S3-121 S3-124]', async () => {
    const summarizer = saying('short')
    await using store = await neurolink({ summarizer })
    await store.append(S, chat(2, 2_000))
    expect((await store.compactSession(S, { targetTokens: 1, emergencyCut: false }))!.compacted).toBe(false)
    expect(summarizer.asked).toEqual([])
  })

  it('merges an earlier summary: one is visible afterwards [S3-123 S3-126 S3-127]', async () => {
    const summarizer = saying('They talked.')
    await using store = await neurolink({ summarizer })
    await store.append(S, chat(10, 100))
    await store.compactSession(S, only('Summarize'))
    await store.append(S, chat(10, 100))
    await store.compactSession(S, only('Summarize'))
    expect(summarizer.asked[1]!.previousSummary).toBe('They talked.')
    const view = await store.getEffectiveHistory(S)
    // 7 rows and 20 messages: the last 9 stay.
    expect(view).toHaveLength(10)
    expect(view.filter(({ kind }) => kind === 'summary')).toHaveLength(1)
    expect(view[0]!.metadata).toMatchObject({ isSummary: true })
  })

  it('continues with stage 4 when the call fails [S3-128]', async () => {
    await using store = await neurolink({ summarizer: failing })
    await store.append(S, chat(10, 100))
    const run = (await store.compactSession(S, { targetTokens: 1 }))!
    expect(run.stagesUsed).toEqual(['truncate'])
    expect(run.failed).toHaveLength(1)
  })
})

describe('stage 4 of the preset neurolink', () => {
  it.each([
    // 18 after the pair, half of them 9, an even number 8; then 3 of 5 and 2 of 4.
    [20, 8],
    [7, 2],
    [6, 2],
    [5, 0],
  ])('of %i messages hides %i after the first pair [S3-129 to S3-137]', async (count, hidden) => {
    await using store = await neurolink()
    await store.append(S, chat(10, 100).slice(0, count))
    const before = await shown(store)
    const run = (await store.compactSession(S, { ...only('Truncate'), emergencyCut: false }))!
    expect(run.compacted).toBe(hidden > 0)
    const marker = hidden === 0 ? [] : [TRUNCATION_MARKER]
    expect(await shown(store)).toEqual([...before.slice(0, 2), ...marker, ...before.slice(2 + hidden)])
    if (hidden > 0) expect(run.messages[2]).toMatchObject({ role: 'system', kind: 'marker' })
    // Hidden, not deleted.
    const stored = await store.getMessages(S)
    expect(stored.filter(({ kind }) => kind === 'message')).toHaveLength(count)
  })

  it('leaves four messages alone [S3-135]', async () => {
    await using store = await neurolink()
    await store.append(S, chat(2, 100))
    expect((await store.compactSession(S, only('Truncate')))!.compacted).toBe(false)
  })

  it('hides more than half only where the request would not fit its window otherwise', async () => {
    await using store = await neurolink({ enableSummarize: false })
    await store.sessions.create({ id: S, model: 'gpt-4' })
    // 18 messages of 20 units and 382 of 21, too short to be cut: ceil(8,382 × 1.15) + 4 × 400 + 24, where gpt-4 leaves 5,324.
    await store.append(S, chat(200, 20))
    const run = (await store.compactSession(S))!
    expect(run).toMatchObject({ tokensBefore: 11_264, stagesUsed: ['truncate'], fits: true })
    expect(run.tokensAfter).toBeGreaterThan(5_000)
    const view = await store.getEffectiveHistory(S)
    expect(view[2]).toMatchObject({ kind: 'marker' })
    expect(view.slice(0, 2).map(({ position }) => position)).toEqual([1, 2])
  })
})

it('the preset neurolink runs by itself before a request at 80 percent', async () => {
  const summarizer: Summarizer = saying('They talked.')
  await using store = await neurolink({ summarizer })
  await store.sessions.create({ id: S, model: 'gpt-4' })
  // 18 messages of 100 units and 18 of 101: ceil(3,618 × 1.15) + 4 × 36 + 24 = 4,329, or 81 percent of 5,324.
  await store.append(S, chat(18, 100))
  const { compacted } = await beforeTurn(store, S)
  expect(compacted).toBe(true)
  // ceil(36 × 0.3) = 11 of them and the summary.
  expect(await store.getEffectiveHistory(S)).toHaveLength(12)
})
