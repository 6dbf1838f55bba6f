import type { Session } from '../../storage/storage.ts'
import type { ContextStats } from '../../store/compaction/stats.ts'
import type { Live } from './live.ts'
import type { Query } from './router.ts'
import { type ByCategory, tokensByCategory } from './tokens.ts'

/** What every tab of a session receives. */
export type TabProps = {
  readonly session: Session
  readonly live: Live
  /** Changes whenever the session does: the version for `useCall`. */
  readonly version: string
  readonly query: Query
  readonly stats: ContextStats | undefined
  readonly forks: readonly Session[]
}

/** The tokens of the next request by category. */
export function partsOf(stats: ContextStats): ByCategory {
  const {
    systemPrompt,
    toolDefinitions,
    conversationHistory,
    currentPrompt,
    fileAttachments,
    unseen = 0,
  } = stats.breakdown
  // The system prompt and tools of the last request are a part of what is unseen now.
  const { tokens, source } = stats.fixed
  const known = source === 'last-request' ? Math.min(tokens, unseen) : 0
  return {
    ...tokensByCategory(stats.sizes, conversationHistory),
    system: systemPrompt + known,
    tools: toolDefinitions,
    other: currentPrompt + fileAttachments + unseen - known,
  }
}
