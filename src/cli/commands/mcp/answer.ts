import { createHash } from 'node:crypto'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../../../core/cursor.ts'
import { type ErrorCode, invalid, isUndertextError } from '../../../core/errors.ts'
import { headOf } from '../../../core/messages/characters.ts'
import { truncateToTokenBudget } from '../../../core/tokens/truncate-text.ts'
import { badCursor } from '../../../store/recall/remarks.ts'
import { framed } from '../../../store/recall/render.ts'
import { type Scope, scopeNow } from '../../../store/recall/scope.ts'
import type { Store } from '../../../store/store.ts'
import { CliError, failureOf } from '../../errors.ts'
import { withoutAddresses } from '../../location.ts'
import { safeLine } from '../../output/safe-text.ts'

/** The result of a tool: facts, which its schema converts to the form of the protocol, and the same facts as text. */
export type Answer = { readonly data: object; readonly text: string }

/** Returns a scope that counts tokens as a session does, or as the store does if there is no session or its estimator is unknown here. */
export async function countingFor(store: Store, session?: string): Promise<Scope> {
  if (session !== undefined)
    try {
      return await scopeNow(store, session)
    } catch (error) {
      if (!isUndertextError(error, 'ESTIMATOR_UNKNOWN')) throw error
    }
  return scopeNow(store, { sessions: 'all' })
}

/** The most characters of a name in a line, and the shares of an answer for an id and for any other name. */
const MAX_NAME_LENGTH = 400
const [ID_SHARE, NAME_SHARE] = [1 / 5, 1 / 15]

/** Tokens for an answer's own words and field names. */
export const FRAME_TOKENS = 150
/** A cursor with more than this share of an answer is in the structured form only. */
const CURSOR_SHARE = 1 / 8
const MIN_CURSOR_TOKENS = 60

/** Items of a list, and how an answer shows them. */
type Listing<T> = {
  readonly items: readonly T[]
  /** An item in the structured form. */
  readonly dataOf: (item: T) => unknown
  readonly lineOf: (item: T) => string
  readonly cursorOf: (last: T, count: number) => unknown
  /** Whether more follow after the items. */
  readonly follows?: boolean
  /** Lines before the list, of our own words only, and lines of stored names before its first item. */
  readonly lead?: readonly string[]
  readonly head?: readonly string[]
}

/** The parts of a text: our own lines, stored text, and again our own. */
type Parts = {
  readonly lead?: readonly string[]
  readonly body: readonly string[]
  readonly trail?: readonly string[]
}

/** Writes the text of an answer within its tokens. */
export class Writer {
  readonly scope: Scope
  readonly maxTokens: number

  constructor(scope: Scope, maxTokens: number) {
    this.scope = scope
    this.maxTokens = maxTokens
  }

  /** Returns an id for a line, cut if it is too long. */
  id(id: string): string {
    return this.#cut(id, this.maxTokens * ID_SHARE)
  }

  /** A title, an owner, a reason. */
  name(name: string): string {
    return this.#cut(name, this.maxTokens * NAME_SHARE)
  }

  #cut(text: string, tokens: number): string {
    const line = safeLine(text.length > MAX_NAME_LENGTH ? `${headOf(text, MAX_NAME_LENGTH)}…` : text)
    return this.truncated(line, tokens)
  }

  truncated(text: string, tokens: number): string {
    const { estimator, provider } = this.scope
    return truncateToTokenBudget(text, tokens, provider, { estimator, ending: '…' }).text
  }

  /** The page of a list: the first items that fit in both forms, at least one. */
  page<T>({ items, dataOf, lineOf, cursorOf, follows = false, lead = [], head = [] }: Listing<T>): {
    readonly taken: readonly T[]
    readonly next: string | undefined
    readonly text: string
  } {
    const { tokensOf } = this.scope
    const lines: string[] = []
    let left = this.maxTokens - FRAME_TOKENS - tokensOf([...lead, ...head].join('\n'))
    for (const item of items) {
      const line = lineOf(item)
      left -= Math.max(tokensOf(line), tokensOf(JSON.stringify(dataOf(item))))
      if (left < 0 && lines.length > 0) break
      lines.push(line)
    }
    for (;;) {
      const taken = items.slice(0, lines.length)
      const more = follows || lines.length < items.length
      const next = more && lines.length > 0 ? encodeCursor(cursorOf(taken.at(-1)!, taken.length)) : undefined
      const parts = { lead, body: [...head, ...lines], trail: this.nextLine(next) }
      if (lines.length > 1 && tokensOf(framedAnswer(parts)) > this.maxTokens) lines.pop()
      else return { taken, next, text: this.text(parts) }
    }
  }

  /** Returns the text of an answer. Text over its token limit is removed from the end of the stored text. */
  text(parts: Parts): string {
    const { tokensOf } = this.scope
    const whole = parts.body.join('\n')
    let text = framedAnswer(parts)
    let room = this.maxTokens
    for (let over = tokensOf(text) - room; over > 0 && room > 0; over = tokensOf(text) - this.maxTokens) {
      room = Math.min(room, tokensOf(whole)) - Math.max(over, 1)
      text = framedAnswer({ ...parts, body: [this.truncated(whole, room)] })
    }
    return text
  }

  /** The line that names the next page. */
  nextLine(cursor: string | undefined): string[] {
    if (cursor === undefined) return []
    const most = Math.max(MIN_CURSOR_TOKENS, this.maxTokens * CURSOR_SHARE)
    const named =
      this.scope.tokensOf(cursor) <= most ? `cursor ${JSON.stringify(cursor)}` : 'next_cursor as cursor'
    return [`More follows: call again with the same arguments and ${named}.`]
  }
}

/** Returns the writer of an answer about a session, or about the store if there is no session. */
export async function writerFor(
  { access, maxTokens }: { readonly access: { readonly store: Store }; readonly maxTokens: number },
  session?: string,
): Promise<Writer> {
  return new Writer(await countingFor(access.store, session), maxTokens)
}

function framedAnswer({ lead = [], body, trail = [] }: Parts): string {
  return [...lead, ...(body.length === 0 ? [] : [framed(body.join('\n'))]), ...trail].join('\n')
}

/** A short name of values, for cursors: two that differ have different names. */
export function digestOf(...values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 16)
}

/** The place of a session in a list, for a cursor. */
export const sessionPlace = z.strictObject({ id: z.string().min(1), newestAt: z.int() })

export function placeOf({ id, newestAt }: z.output<typeof sessionPlace>): z.output<typeof sessionPlace> {
  return { id, newestAt }
}

/** Reads a cursor of the same tool; returns `undefined` without a cursor. Throws `INVALID_INPUT`. */
export function readCursor<S extends z.ZodType>(
  schema: S,
  cursor: string | undefined,
): z.output<S> | undefined {
  return cursor === undefined ? undefined : (decodeCursor(schema, cursor) ?? badCursor())
}

/**
 * Returns the items after the one that a cursor names, or all items without a cursor. `gone` completes the error for a cursor whose item
 * isn't in the list. Throws `INVALID_INPUT`.
 */
export function itemsAfter<T>(
  items: readonly T[],
  cursor: string | undefined,
  placeOf: (item: T) => string,
  gone: string,
): readonly T[] {
  const last = readCursor(z.string(), cursor)
  if (last === undefined) return items
  const at = items.findIndex((item) => placeOf(item) === last)
  if (at === -1) throw invalid(`the cursor belongs to ${gone}; begin without a cursor`)
  return items.slice(at + 1)
}

/** A time as ISO 8601 in UTC; a number out of range as plain text. */
export function timeText(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}

/** A mistake in the arguments, with its code and a sentence about what to do. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: string
  readonly hint: string | undefined = undefined

  constructor(code: string, sentence: string) {
    super(sentence)
    this.code = code
  }
}

/** What to do, by the code of a failure. */
const HINTS: { readonly [C in ErrorCode]?: string } = {
  SESSION_NOT_FOUND: 'list_sessions lists the sessions.',
  MESSAGE_NOT_FOUND: 'search_history and read_history return the ids of messages.',
  COMPACTION_NOT_FOUND: 'list_compactions lists them; @ is the newest run.',
  HAS_ACTIVE_DEPENDENTS: 'Undo those as well: pass `cascade: true`.',
  INPUT_NOT_VISIBLE: 'Redo what it builds on as well: pass `cascade: true`.',
  BRANCH_MOVED:
    'To undo it anyway, pass `both: true`: the earlier messages then come before those that were appended after it.',
  CONTENT_RETIRED: 'What retention removed is gone, so the former view cannot be restored.',
  STALE_PLAN: 'The session was changed meanwhile; try again.',
  STORE_BUSY: 'Try again when the other program has finished.',
}

/** The result of a call that failed: the code, what is wrong and what to do; never text of a conversation. */
export async function failed(
  error: unknown,
  isEnding: boolean,
  { store, maxTokens }: { readonly store: Store; readonly maxTokens: number },
): Promise<CallToolResult> {
  const { code, message, hint } = error instanceof Problem ? error : failureOf(error, isEnding)
  const advice = isUndertextError(error) ? HINTS[error.code] : error instanceof CliError ? hint : undefined
  // A message may repeat an argument of any length.
  const writer = new Writer(await countingFor(store), maxTokens)
  const sentence = writer.truncated(withoutAddresses(`${code}: ${message}`), (maxTokens * 2) / 3)
  const text = [sentence, ...(advice === undefined ? [] : [withoutAddresses(advice)])].join(' ')
  return { content: [{ type: 'text', text }], isError: true }
}
