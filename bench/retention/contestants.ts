import { type ChatMessage, DEFAULTS, PRESETS, type Stage, type StageSpec } from 'undertext'
import { type ArrayCompactionConfig, ContextCompactor } from 'undertext/arrays'
import { missingAfterSummary } from '../../src/core/model/laws.ts'
import { newestWindow } from './window.ts'

/** What a model would see. */
export type Compacted = {
  readonly view: readonly ChatMessage[]
  /** Messages after the newest summary that are neither in it nor in the view, of all rounds. The law allows none. */
  readonly missing: number
}

/** What brings a history down to a budget. */
export type Contestant = {
  readonly name: string
  readonly compact: (messages: readonly ChatMessage[], budget: number) => Promise<Compacted>
}

/** A model whose window holds every history measured, so that nothing but the budget counts. */
const WIDE: ArrayCompactionConfig = { provider: 'google-ai', model: 'gemini-2.5-pro' }

const by = (name: string, config: ArrayCompactionConfig): Contestant => ({
  name,
  async compact(messages, budget) {
    const compactor = new ContextCompactor({ ...WIDE, ...config })
    const { messages: view, tagged } = await compactor.compact(messages, budget)
    return { view, missing: countMissing(tagged) }
  },
})

/** How many messages a compaction of an array hid after its newest summary. */
function countMissing(tagged: readonly ChatMessage[]): number {
  const rows = tagged.map((message, at) => ({
    key: at,
    kind:
      message.condenseId !== undefined
        ? ('summary' as const)
        : message.isTruncationMarker === true
          ? ('marker' as const)
          : ('message' as const),
    anchor: at,
    ordinal: 0,
    isHidden: message.condenseParent !== undefined || message.truncationParent !== undefined,
  }))
  return missingAfterSummary(
    rows,
    rows.filter(({ isHidden }) => !isHidden),
  ).length
}

/** The same, done several times on the way: each round on what the one before left and the messages since. */
const inRounds = ({ name, compact }: Contestant, rounds: number): Contestant => ({
  name: `${name}, ${rounds} rounds`,
  async compact(messages, budget) {
    let view: readonly ChatMessage[] = []
    let missing = 0
    for (let round = 1; round <= rounds; round++) {
      const from = roundStart(messages, (round - 1) / rounds)
      const to = roundStart(messages, round / rounds)
      const done = await compact(
        [...view, ...messages.slice(from, to)],
        Math.floor((budget * round) / rounds),
      )
      view = done.view
      missing += done.missing
    }
    return { view, missing }
  },
})

/** Where a share of the messages ends, not between a call and its result. */
function roundStart(messages: readonly ChatMessage[], share: number): number {
  let at = Math.floor(messages.length * share)
  while (at < messages.length && messages[at]!.role === 'tool') at++
  return at
}

const OFF: ArrayCompactionConfig = {
  enablePrune: false,
  enableDeduplicate: false,
  enableSummarize: false,
  enableTruncate: false,
}

const composed = (name: string, ...stages: NonNullable<ArrayCompactionConfig['stages']>): Contestant =>
  by(name, { stages })

const WINDOW = { stage: 'sliding_window', fitBudget: true }

/** A window that names no count keeps as many messages as nca does by default. */
function withWindowOfNca(stage: StageSpec | Stage): StageSpec | Stage {
  const isBare =
    typeof stage === 'object' && 'stage' in stage && stage.last === undefined && stage.fitBudget === undefined
  return isBare && stage.stage === 'sliding_window' ? { ...stage, last: DEFAULTS.maxRetainedMessages } : stage
}

/** The first is measured with any `--only`. A further stage, strategy or preset is one line more. */
export const CONTESTANTS: readonly Contestant[] = [
  {
    name: 'window',
    compact: async (messages, budget) => ({ view: newestWindow(messages, budget), missing: 0 }),
  },
  by('default', {}),
  inRounds(by('default', {}), 2),
  inRounds(by('default', {}), 3),
  by('prune', { ...OFF, enablePrune: true }),
  by('deduplicate', { ...OFF, enableDeduplicate: true }),
  by('summarize', { ...OFF, enableSummarize: true }),
  by('truncate', { ...OFF, enableTruncate: true }),
  by('prune, truncate', { ...OFF, enablePrune: true, enableTruncate: true }),
  composed('sliding_window', WINDOW),
  composed('sliding_window_with_summary', { ...WINDOW, summarize: true }),
  composed('clear_tool_results, window', { stage: 'clear_tool_results', keep: 2 }, WINDOW),
  composed('drop_reasoning, window', 'drop_reasoning', WINDOW),
  composed('priority_based', 'priority_based'),
  composed('hierarchical_summaries, truncate', 'hierarchical_summaries', 'truncate'),
  ...(['neuron', 'promptfleet', 'nca'] as const).map((preset) =>
    composed(`preset ${preset}`, ...(PRESETS[preset].stages ?? []).map(withWindowOfNca)),
  ),
]
