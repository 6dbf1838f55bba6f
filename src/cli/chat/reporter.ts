import type { ContextStats } from '../../compaction/stats.ts'
import type { CompactionEvent } from '../../events.ts'
import type { UsageWarning } from './usage-warning.ts'

/*
 * What a chat tells, as it happens. For people it is text; with `--json` each is one line, in the form the types give (docs/cli-chat.md).
 */

type SessionTold = {
  readonly sessionId: string
  readonly isNew: boolean
  /** Messages in the log, before this chat. */
  readonly messages: number
  readonly backend: 'echo' | 'url' | 'ai-sdk'
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

type AnswerTold = {
  readonly sessionId: string
  readonly text: string
  /** Place of the answer in the log. */
  readonly position: number
  readonly stopReason?: string | undefined
  /** Why it is not whole. */
  readonly stopped?: 'interrupted' | 'failed' | undefined
  readonly model?: string | undefined
  readonly usage?: object | undefined
  readonly stats: ContextStats | null
}

/** Something that came to nothing, or only to a part. Nothing of it is stored. */
type FailureTold = {
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
}

export type Reporter = {
  session(told: SessionTold): void
  /** A piece of an answer. */
  text(piece: string): void
  answer(told: AnswerTold): void
  warning(warning: UsageWarning): void
  compaction(event: CompactionEvent): void
  failure(told: FailureTold): void
  /** A remark, for people alone. */
  note(text: string): void
  /** What a command of the chat answers: lines for people, a value for programs. */
  result(command: string, value: unknown, lines: readonly string[]): void
  end(sessionId: string | undefined): void
}
