import { type ArrayCompactionConfig, type ChatMessage, ContextCompactor } from 'undertext'
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

/** The first is the baseline. A further stage, strategy or preset is one line more. */
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
]
