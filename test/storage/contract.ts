import { afterEach, describe } from 'vitest'
import { describeAppend } from './contract/append.ts'
import { describeAppendPreviews } from './contract/append-previews.ts'
import { describeAudit } from './contract/audit.ts'
import { describeBilling } from './contract/billing.ts'
import { describeConcurrency } from './contract/concurrency.ts'
import { describeCosts } from './contract/costs.ts'
import { describeExpand } from './contract/expand.ts'
import { describeForks } from './contract/forks.ts'
import { describeHistories } from './contract/histories.ts'
import { describeLossless } from './contract/lossless.ts'
import { describeMoments } from './contract/moments.ts'
import { describeNotes } from './contract/notes.ts'
import { describePreview } from './contract/preview.ts'
import { describePromptCache } from './contract/prompt-cache.ts'
import { describeProvider } from './contract/provider.ts'
import { describePurgeText } from './contract/purge-text.ts'
import { describeReading } from './contract/reading.ts'
import { describeReadings } from './contract/readings.ts'
import { describeRepetitions } from './contract/repetitions.ts'
import { describeRequests } from './contract/requests.ts'
import { describeRetention } from './contract/retention.ts'
import { describeRewinds } from './contract/rewinds.ts'
import { describeSearch } from './contract/search.ts'
import { describeSessions } from './contract/sessions.ts'
import { describeDeduplicate } from './contract/stages-deduplicate.ts'
import { describeDropReasoning } from './contract/stages-drop-reasoning.ts'
import { describeMedia } from './contract/stages-media.ts'
import { describePrune } from './contract/stages-prune.ts'
import { describeSummarize } from './contract/stages-summarize.ts'
import { describeTruncate } from './contract/stages-truncate.ts'
import { type Contract, KEEPS_ALL, type Keeps, type StoreFactory } from './contract/support.ts'
import { describeTimeline } from './contract/timeline.ts'
import { describeToolCalls } from './contract/tool-calls.ts'
import { describeTurns } from './contract/turns.ts'
import { describeUndo } from './contract/undo.ts'
import { describeUndoIfFits } from './contract/undo-if-fits.ts'

/** A part of the contract. */
export type Part = (contract: Contract) => void

export const CONTRACT: readonly Part[] = [
  describeSessions,
  describeBilling,
  describePromptCache,
  describeAppend,
  describeAppendPreviews,
  describeLossless,
  describeReading,
  describeMedia,
  describePrune,
  describeDeduplicate,
  describeDropReasoning,
  describeSummarize,
  describeTruncate,
  describePreview,
  describeProvider,
  describeUndo,
  describeRewinds,
  describeRepetitions,
  describeForks,
  describeRetention,
  describeToolCalls,
  describeExpand,
  describeUndoIfFits,
  describeConcurrency,
  describeAudit,
  describeReadings,
  describeRequests,
  describeMoments,
  describeTimeline,
  describeCosts,
  describeHistories,
  describeNotes,
  describeTurns,
  describeSearch,
  describePurgeText,
]

/** A part for each kind of verb, where the whole would take too long. */
export const SAMPLE: readonly Part[] = [
  describeSessions,
  describeAppend,
  describeReading,
  describeMedia,
  describePrune,
  describeSummarize,
  describePreview,
  describeUndo,
  describeToolCalls,
  describeBilling,
]

/**
 * What every storage must do: all verbs of `Store`, over whatever the factory opens. A new backend is done when
 * this passes. Each test gets a store of its own; `reopen` answers another store over the same data.
 */
export function describeStore(
  name: string,
  factory: StoreFactory,
  keeps: Keeps = KEEPS_ALL,
  parts: readonly Part[] = CONTRACT,
): void {
  const after: (() => unknown)[] = []
  afterEach(async () => {
    for (const clean of after.splice(0).reverse()) await clean()
  })

  const openBoth: StoreFactory = async () => {
    const opened = await factory()
    after.push(() => opened.store.close())
    const { reopen } = opened
    if (reopen === undefined) return opened
    return {
      ...opened,
      reopen: async () => {
        const store = await reopen()
        after.push(() => store.close())
        return store
      },
    }
  }
  const contract: Contract = { openBoth, open: async () => (await openBoth()).store, keeps }

  describe(name, () => {
    for (const describePart of parts) describePart(contract)
  })
}
