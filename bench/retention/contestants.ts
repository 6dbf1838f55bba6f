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
  by('prune', { ...OFF, enablePrune: true }),
  by('deduplicate', { ...OFF, enableDeduplicate: true }),
  by('summarize', { ...OFF, enableSummarize: true }),
  by('truncate', { ...OFF, enableTruncate: true }),
  by('prune, truncate', { ...OFF, enablePrune: true, enableTruncate: true }),
]
