import type { PositionRange, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import type { Turnings } from '../core/model/reasoning.ts'

/* Requests to a model: a moment of a session's view, how it was rendered, and what was sent with it. */

/** Billed tokens; input excludes tokens read from or written to the cache. */
export type BilledTokens = {
  /** The number of requests, where it is not one. */
  readonly requests?: number
  readonly inputTokens: number
  /** `undefined` when the provider did not report it. */
  readonly cacheReadTokens: number | undefined
  readonly cacheCreationTokens: number | undefined
  readonly outputTokens: number
}

/** A text of a request as bytes, in one piece or several, each stored once by its hash. */
export type Pieces = readonly { readonly hash: Buffer; readonly bytes: Uint8Array }[]

/** What is known of a request. */
type RequestFields = {
  /** The moment of its view: the last position of the log, and the number of the last entry of the audit, 0 for none. */
  readonly position: number
  readonly audit: number
  readonly provider: string
  /** Empty for a provider without a model. */
  readonly model: string
  /** How the view was rendered, besides the provider: a JSON object; `undefined` for the defaults. */
  readonly rendering: string | undefined
  readonly renderer: number
  readonly hash: Buffer
  /** The positions of the prompt, where it is in the log, and of the answer. */
  readonly promptRange: PositionRange | undefined
  readonly answer: PositionRange | undefined
  readonly billed: BilledTokens | undefined
  /** Milliseconds since 1970. */
  readonly at: number
}

/** The texts of a request that the log does not have. */
export const REQUEST_TEXTS = ['system', 'tools', 'prompt', 'files'] as const
export type RequestTexts<T> = { readonly [N in (typeof REQUEST_TEXTS)[number]]: T }

/** A request that is about to be recorded. */
export type NewRequest = RequestFields & RequestTexts<Pieces | undefined>

/** A recorded request: 1, 2, 3 … within its session. Its texts as hashes in hexadecimal. */
export type StoredRequest = RequestFields &
  RequestTexts<readonly string[] | undefined> & { readonly no: number; readonly id: string }

/** A moment of a session, and what tells whether it changed since. */
export type SessionPoint = {
  readonly incarnation: string
  readonly version: number
  /** The number of the last entry of the audit, 0 for none. */
  readonly audit: number
}

/** The recorded requests after one, oldest first. */
export type RequestQuery = {
  readonly after?: string | undefined
  readonly limit: number
}

/** A request by its id, or by a message of its answer. */
export type RequestKey = { readonly id: string } | { readonly answer: string | number }

/** A request and what it was made of. */
export type FoundRequest = {
  readonly request: StoredRequest
  /** Absent for a text that it has not, and for one that is gone. */
  readonly texts: RequestTexts<string | undefined>
  /** The prompt, where it is in the log. */
  readonly stored: readonly StoredMessage[]
  /** The view of its moment. */
  readonly view: readonly ViewMessage[]
}

/** An answer in the log whose request was recorded: its first and last position, and how the view of the request was rendered. */
export type AnsweredRequest = Pick<RequestFields, 'provider' | 'model' | 'rendering'> & {
  readonly first: number
  readonly last: number
}

/** What tells whether reasoning may be sent again. */
export type ReasoningRecord = Turnings & {
  /** Whether these are all answers and turnings. Else: the newest answer, and what happened since its request. */
  readonly isWhole: boolean
  /** By position. */
  readonly answers: readonly AnsweredRequest[]
  /** Requests whose answers are not known, newest first: all, or those after the newest answer. */
  readonly open: readonly Pick<RequestFields, 'rendering' | 'position'>[]
}
