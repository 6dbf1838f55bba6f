import { type ChatMessage, MAX_RETAINED_MESSAGES, PRESETS, type Stage, type StageSpec } from 'undertext'
import { type ArrayCompactionConfig, ContextCompactor } from 'undertext/arrays'
import { newestWindow } from './window.ts'

/** What brings a history down to a budget, and answers what a model would see. */
export type Contestant = {
  readonly name: string
  readonly compact: (messages: readonly ChatMessage[], budget: number) => Promise<readonly ChatMessage[]>
}

/** A model whose window holds every history measured, so that nothing but the budget counts. */
const WIDE: ArrayCompactionConfig = { provider: 'google-ai', model: 'gemini-2.5-pro' }

const by = (name: string, config: ArrayCompactionConfig): Contestant => ({
  name,
  async compact(messages, budget) {
    const { messages: view } = await new ContextCompactor({ ...WIDE, ...config }).compact(messages, budget)
    return view
  },
})

/** The same, done several times on the way: each round on what the one before left and the messages since. */
const inRounds = ({ name, compact }: Contestant, rounds: number): Contestant => ({
  name: `${name}, ${rounds} rounds`,
  async compact(messages, budget) {
    let view: readonly ChatMessage[] = []
    for (let round = 1; round <= rounds; round++) {
      const from = roundStart(messages, (round - 1) / rounds)
      const to = roundStart(messages, round / rounds)
      view = await compact([...view, ...messages.slice(from, to)], Math.floor((budget * round) / rounds))
    }
    return view
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
  return isBare && stage.stage === 'sliding_window' ? { ...stage, last: MAX_RETAINED_MESSAGES } : stage
}

/** The first is measured with any `--only`. A further stage, strategy or preset is one line more. */
export const CONTESTANTS: readonly Contestant[] = [
  { name: 'window', compact: async (messages, budget) => newestWindow(messages, budget) },
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
