import type { PositionRange, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import type { Turnings } from '../core/model/reasoning.ts'

/* Requests to a model: a moment of a session's view, how it was rendered, and what was sent with it. */

/** Billed tokens; input excludes tokens read from or written to the cache. */
export type BilledTokens = {
  /** The number of requests, if not one. */
  readonly requests?: number
  readonly inputTokens: number
  /** `undefined` when the provider did not report it. */
  readonly cacheReadTokens: number | undefined
  readonly cacheCreationTokens: number | undefined
  readonly outputTokens: number
}

/** A text of a request as bytes, in one or more pieces, each stored once by its hash. */
export type Pieces = readonly { readonly hash: Buffer; readonly bytes: Uint8Array }[]

/** The recorded facts of a request. */
type RequestFields = {
  /** The moment of its view: the log's last position, and the number of the audit's last entry, 0 if there is none. */
  readonly position: number
  readonly audit: number
  readonly provider: string
  /** The model; empty if the provider has none. */
  readonly model: string
  /** How the view was rendered, apart from the provider: a JSON object; `undefined` for the defaults. */
  readonly rendering: string | undefined
  readonly renderer: number
  readonly hash: Buffer
  /** The positions of the prompt, if it is in the log, and of the answer. */
  readonly promptRange: PositionRange | undefined
  readonly answer: PositionRange | undefined
  readonly billed: BilledTokens | undefined
  /** Milliseconds since 1970. */
  readonly at: number
}

/** The texts of a request that aren't in the log. */
export const REQUEST_TEXTS = ['system', 'tools', 'prompt', 'files'] as const
export type RequestTexts<T> = { readonly [N in (typeof REQUEST_TEXTS)[number]]: T }

/** A request that is about to be recorded. */
export type NewRequest = RequestFields & RequestTexts<Pieces | undefined>

/** A recorded request, numbered 1, 2, 3 … within its session. Its texts are hashes in hexadecimal. */
export type StoredRequest = RequestFields &
  RequestTexts<readonly string[] | undefined> & { readonly no: number; readonly id: string }

/** A moment of a session, with the values that show whether the session has changed since. */
export type SessionPoint = {
  readonly incarnation: string
  readonly version: number
  /** The number of the audit's last entry, 0 if there is none. */
  readonly audit: number
}

/** A query for the recorded requests between two given ones, oldest first or, backward, newest first. */
export type RequestQuery = {
  readonly after?: string | undefined
  readonly before?: string | undefined
  readonly order?: 'forward' | 'backward' | undefined
  readonly limit: number
}

/** A request by its id, or by a message of its answer. */
export type RequestKey = { readonly id: string } | { readonly answer: string | number }

/** A request, and the texts, messages and view that it consisted of. */
export type FoundRequest = {
  readonly request: StoredRequest
  /** A text is absent if the request had none, or if it was removed. */
  readonly texts: RequestTexts<string | undefined>
  /** The prompt, if it is in the log. */
  readonly stored: readonly StoredMessage[]
  /** The view at its moment. */
  readonly view: readonly ViewMessage[]
}

/** An answer in the log whose request was recorded: its first and last position, and how the request's view was rendered. */
export type AnsweredRequest = Pick<RequestFields, 'provider' | 'model' | 'rendering'> & {
  readonly first: number
  readonly last: number
}

/** The records that decide whether reasoning may be sent again. */
export type ReasoningRecord = Turnings & {
  /** Whether all answers and turnings are included. Otherwise: the newest answer, and the events since its request. */
  readonly isWhole: boolean
  /** By position. */
  readonly answers: readonly AnsweredRequest[]
  /** Requests without a known answer, newest first: all of them, or those after the newest answer. */
  readonly open: readonly Pick<RequestFields, 'rendering' | 'position'>[]
}
