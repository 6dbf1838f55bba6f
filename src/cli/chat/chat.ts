import type { SqliteStore } from '../../store/open.ts'
import type { Context } from '../command.ts'
import type { BackendChoice } from './choose-backend.ts'
import type { Reporter } from './reporter.ts'
import type { Conversation } from './turn.ts'

/** A chat at work: what the loop and its commands share. */
export type Chat = {
  readonly context: Context
  readonly store: SqliteStore
  readonly conversation: Conversation
  readonly reporter: Reporter
  /** Who answers, as it was said last. */
  choice: BackendChoice
}
