import type { BaseMessage } from '@langchain/core/messages'
import type { ConversionOptions } from '../conversion.ts'
import type { RecoveringStore, SessionNames } from '../recovering.ts'

/** Where the history stands in a prompt: from its first message to before the first one after it. */
export type Place = { readonly from: number; readonly to: number }

/** What a recovering model asks of a history. */
export type HistoryTurns = SessionNames & {
  readonly store: RecoveringStore
  readonly sessionId: string
  readonly conversion: ConversionOptions
  /** Where a prompt holds the history as it was handed out; `undefined` when it does not. */
  readonly find: (messages: readonly BaseMessage[]) => Place | undefined
  /** Whether a message of the caller is stored. */
  readonly isAdded: (message: BaseMessage) => boolean
}

/** The histories of this process, for the models that recover with them. */
export const turnsOf = new WeakMap<object, HistoryTurns>()
