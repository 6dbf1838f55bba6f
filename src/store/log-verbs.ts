import { v7 as uuidv7 } from 'uuid'
import type { ProviderCompactionResult } from '../compaction/record-provider.ts'
import { resolveModel } from '../config/model.ts'
import { saidOf } from '../config/resolve.ts'
import { RENDERING_KEYS } from '../config/settings.ts'
import {
  type AppendOptions,
  type AuthorshipOptions,
  appendSchema,
  authorshipSchema,
  callIdSchema,
  type EffectiveHistoryOptions,
  type ExpandOptions,
  expandSchema,
  type GetMessagesOptions,
  type GetSourcesOptions,
  historySchema,
  idsSchema,
  type ListToolCallsOptions,
  messagesSchema,
  renderSchema,
  sourcesSchema,
  type ToolOutputOptions,
  toolCallsSchema,
  toolOutputSchema,
} from '../config/store-options.ts'
import { invalid, isUndertextError, UndertextError } from '../errors.ts'
import { headOf } from '../messages/characters.ts'
import { check } from '../messages/check.ts'
import { lastBlockOf } from '../messages/compaction-block.ts'
import type { NewMessage, StoredMessage, ViewMessage } from '../messages/message.ts'
import { checkMessages } from '../messages/message-check.ts'
import type { ExpandedSummary } from '../model/expansion.ts'
import type { ToolCall, ToolOutput } from '../model/tool-calls.ts'
import { type Rendering, type RenderOptions, renderView } from '../rendering/render.ts'
import {
  type ImportanceOptions,
  importanceSchema,
  type SessionImportance,
  scoreSession,
} from '../stages/importance/session.ts'
import type { Appended, AppendedMessage, AppendPreview, Previewing, Storage } from '../storage/storage.ts'
import { checkId, isEmptyObject } from './check-arguments.ts'
import { CompactionVerbs } from './compaction-verbs.ts'

/** What an append answers. */
export type AppendResult = {
  readonly sessionId: string
  /** One entry a message, in order. */
  readonly messages: AppendedMessage[]
  /** The session's last position. */
  readonly position: number
  /** What was recorded of a provider's compaction block among the messages. */
  readonly providerCompaction?: ProviderCompactionResult
  /** How large tool outputs among the messages are shown; absent when there were none. */
  readonly preview?: AppendPreview
}

/** The log of a session, and what is to be seen of it. */
export class LogVerbs<S extends Storage> extends CompactionVerbs<S> {
  /**
   * Adds messages at the end of a session's log, all or none, in order, and makes the session if need be.
   *
   * `expectedPosition` is the position the caller believes is last (0 for an empty log): `POSITION_CONFLICT` when
   * it is not. A message with an `idempotencyKey` that was used with the same body is not written again; with
   * another body `IDEMPOTENCY_CONFLICT`. An `id` that is taken: `MESSAGE_ID_TAKEN`. A result without its call is
   * accepted, it may be an import; `validateHistory` reports it.
   *
   * Tool outputs larger than `maxToolOutputBytes` or `maxToolOutputLines` are stored whole and shown head and tail: one
   * compaction of kind `preview`, undone and redone by its id, that `preview` names. It is in force with the messages or
   * not at all. Messages that were known are not previewed again. `previewToolOutputs` says for this call whether it is
   * done; unsaid, the settings do, and with `auto: false` it is not.
   *
   * When an answer holds a block with which its provider compacted the conversation, that is recorded right behind (see
   * `recordProviderCompaction`); `providerCompaction` says what came of it, and is absent when it could not be recorded now.
   */
  async append(
    sessionId: string,
    messages: readonly NewMessage[],
    options: AppendOptions = {},
  ): Promise<AppendResult> {
    const id = checkId(sessionId)
    const isBare = isEmptyObject(options) && options.expectedPosition === undefined
    const { expectedPosition, previewToolOutputs } = isBare
      ? NO_OPTIONS
      : check(appendSchema, options, 'append')
    checkMessages(messages)
    const previewing =
      previewToolOutputs === undefined ? this.previewing : this.#previewingIf(previewToolOutputs)
    const holder = lastWithBlock(messages)
    let written: Appended
    try {
      written = await this.storage.append(id, messages, expectedPosition, previewing)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw invalid('append: a message is larger than a text can be')
    }
    const { messages: appended, preview } = written
    // What was written last stands last; when all was known already, the session says where it stands.
    let position = 0
    let isNew = false
    for (const one of appended) {
      if (one.position > position) position = one.position
      if (!one.existing) isNew = true
    }
    if (!isNew) position = Math.max(position, (await this.requireSession(id)).messageCount)
    const answer = { sessionId: id, messages: appended, position, ...(preview !== undefined && { preview }) }
    const providerCompaction = await this.#recordBlock(id, holder, appended)
    return providerCompaction === undefined ? answer : { ...answer, providerCompaction }
  }

  /** How outputs are previewed when a call says nothing: as the settings do. */
  protected readonly previewing = this.#previewingIf(undefined)

  /** `asked`: what a call says. Whoever asks for previews has them under `auto: false` too, for they are not unasked then. */
  #previewingIf(asked: boolean | undefined): Previewing {
    return {
      limitsFor: (config) => {
        const { settings } = this.configuration.ofSession(config)
        const isOn = asked ?? (settings.previewToolOutputs && settings.auto)
        if (!isOn || !settings.enabled) return undefined
        return { maxBytes: settings.maxToolOutputBytes, maxLines: settings.maxToolOutputLines }
      },
      begin: (session) => ({
        id: uuidv7(),
        runId: uuidv7(),
        provider: resolveModel(this.configuration.modelOf(session), undefined, undefined).key,
        trigger: asked === true ? 'manual' : 'auto',
        actor: undefined,
        reason: undefined,
      }),
    }
  }

  /**
   * Records the last compaction block among messages that were appended just now. They are there, whatever becomes of
   * this: without it everything is sent, and it can be recorded later.
   */
  protected async recordAppended(
    sessionId: string,
    messages: readonly NewMessage[],
    appended: readonly AppendedMessage[],
  ): Promise<ProviderCompactionResult | undefined> {
    return this.#recordBlock(sessionId, lastWithBlock(messages), appended)
  }

  /** `holder`: which of the messages holds the block, or -1. */
  async #recordBlock(
    sessionId: string,
    holder: number,
    appended: readonly AppendedMessage[],
  ): Promise<ProviderCompactionResult | undefined> {
    if (holder === -1) return undefined
    try {
      return await this.recordProviderCompaction(sessionId, { messageId: appended[holder]!.id })
    } catch (error) {
      if (isUndertextError(error)) return undefined
      throw error
    }
  }

  /**
   * The rows as they are stored, hidden ones included, with their tags. `limit` counts messages of the log;
   * summaries and markers come with the message they stand behind. For the next page pass the last position as
   * `after` (or, backward, the first as `before`). With `shown` each row that shows other texts in place of parts says which.
   * With `visible` hidden rows are left out and not read. A page may be empty then and others follow: the next is `after` plus `limit`.
   */
  async getMessages(sessionId: string, options: GetMessagesOptions = {}): Promise<StoredMessage[]> {
    const { after, before, limit, order, shown, visible } = check(messagesSchema, options, 'getMessages')
    return this.storage.messages(checkId(sessionId), { after, before, limit, order, shown, visible })
  }

  /**
   * The effective history: what a model would be sent now, replacements applied, in order. With `provenance` each
   * entry says which positions of the log it stands for.
   */
  async getEffectiveHistory(
    sessionId: string,
    options: EffectiveHistoryOptions = {},
  ): Promise<ViewMessage[]> {
    const { provenance } = check(historySchema, options, 'getEffectiveHistory')
    return this.storage.view(checkId(sessionId), provenance)
  }

  /**
   * The effective history made valid for a provider, and what was mended for it. Default provider: the
   * session's own, else "openai". Changes no row.
   */
  async renderHistory(sessionId: string, options: Partial<RenderOptions> = {}): Promise<Rendering> {
    const id = checkId(sessionId)
    const { provider, ...rest } = check(renderSchema, options, 'renderHistory')
    const session = await this.requireSession(id)
    const chosen = resolveModel(this.configuration.modelOf(session), provider, undefined).provider
    const config = this.configuration.ofSession(session.config)
    const manner = { preset: config.settings.preset, ...saidOf(config, RENDERING_KEYS) }
    const shown = { ...manner, ...rest, provider: chosen } as RenderOptions
    return renderView(await this.storage.view(id, false), shown)
  }

  /**
   * What a tool was given and what it answered, in full, whatever compactions did to it. Ids of calls repeat within a session:
   * without `position` the newest call counts, else the one whose call or result is the message there.
   *
   * Throws `TOOL_CALL_NOT_FOUND`, `ESTIMATOR_UNKNOWN`.
   */
  async getToolOutput(
    sessionId: string,
    callId: string,
    options: ToolOutputOptions = {},
  ): Promise<ToolOutput> {
    const id = checkId(sessionId)
    const call = check(callIdSchema, callId, 'getToolOutput: callId')
    const { position } = check(toolOutputSchema, options, 'getToolOutput')
    const found = await this.storage.toolOutput(id, call, position)
    if (found !== undefined) return found
    const facts = { sessionId: id, callId: headOf(call, 200), ...(position !== undefined && { position }) }
    throw new UndertextError('TOOL_CALL_NOT_FOUND', facts)
  }

  /**
   * The calls of tools in the order of the log, hidden ones included: how each ended, its size, and what the view shows of its
   * output. A page ends with the message in which `limit` (1,000) calls are reached, so it may hold a few more; for the next
   * pass the position of the last call's message as `after`. Results without a call are not among them. Throws `ESTIMATOR_UNKNOWN`.
   */
  async listToolCalls(sessionId: string, options: ListToolCallsOptions = {}): Promise<ToolCall[]> {
    return this.storage.toolCalls(checkId(sessionId), check(toolCallsSchema, options, 'listToolCalls'))
  }

  /**
   * Opens a summary: what its compaction covered, originals, in order, and the summaries among that opened in turn down to
   * `depth` levels (1). Each row tells its positions, times and tokens, each summary its level and how many messages it stands
   * for. Works for summaries that are hidden or whose compaction was undone.
   *
   * Throws `MESSAGE_NOT_FOUND`, `INVALID_INPUT` for a message that is no summary, `ESTIMATOR_UNKNOWN`, `STORE_CORRUPT` when a row's
   * content is gone.
   */
  async expand(sessionId: string, summaryId: string, options: ExpandOptions = {}): Promise<ExpandedSummary> {
    const { depth } = check(expandSchema, options, 'expand')
    return this.storage.expand(checkId(sessionId), checkId(summaryId, 'summaryId'), depth)
  }

  /**
   * The messages of the log a summary stands for in the end, through all summaries beneath it: originals with their tags, in
   * order. For the next page pass the last position as `after`. Throws `MESSAGE_NOT_FOUND`, `INVALID_INPUT` for a message that is no summary.
   */
  async getSources(
    sessionId: string,
    summaryId: string,
    options: GetSourcesOptions = {},
  ): Promise<StoredMessage[]> {
    const { after, limit } = check(sourcesSchema, options, 'getSources')
    return this.storage.sources(checkId(sessionId), checkId(summaryId, 'summaryId'), { after, limit })
  }

  /** Pins messages: no compaction hides or changes them. Answers how many were not pinned before. Throws `MESSAGE_NOT_FOUND`. */
  async pin(
    sessionId: string,
    messageIds: readonly string[],
    options: AuthorshipOptions = {},
  ): Promise<number> {
    return this.#setPin('pin', sessionId, messageIds, true, options)
  }

  /** Takes pins off; takes effect at the next plan. Answers how many were pinned. Throws `MESSAGE_NOT_FOUND`. */
  async unpin(
    sessionId: string,
    messageIds: readonly string[],
    options: AuthorshipOptions = {},
  ): Promise<number> {
    return this.#setPin('unpin', sessionId, messageIds, false, options)
  }

  async #setPin(
    verb: string,
    sessionId: string,
    messageIds: readonly string[],
    pinned: boolean,
    options: AuthorshipOptions,
  ): Promise<number> {
    const id = checkId(sessionId)
    const ids = check(idsSchema, messageIds, `${verb}: messageIds`)
    const { actor, reason } = check(authorshipSchema, options, verb)
    return this.storage.pin(id, ids, pinned, { actor, reason })
  }

  /**
   * What each visible message or tool group is worth, 0 to 1, and why; nothing is hidden by it, and nothing is stored: the same
   * history gives the same scores again, also after a restart. `weights` differ from the default ones; a `scorer` of the
   * application's own may ask a model, and when it fails the default scorer steps in and `warning` says so. Reads every
   * visible message. Throws `SESSION_NOT_FOUND`.
   */
  async getImportance(sessionId: string, options: ImportanceOptions = {}): Promise<SessionImportance> {
    const id = checkId(sessionId)
    const checked = check(importanceSchema, options, 'getImportance')
    // Scores do not depend on the provider: its name is only asked for.
    const snapshot = await this.storage.snapshot(id, resolveModel(undefined, undefined, undefined).key)
    if (snapshot === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    const contents = await this.storage.contents(snapshot.view.rows.map(({ key }) => key))
    return scoreSession(snapshot.view, (row) => contents.get(row.key) ?? [], checked)
  }
}

const NO_OPTIONS: AppendOptions = {}

/** The last message that holds a compaction block, or -1. */
function lastWithBlock(messages: readonly NewMessage[]): number {
  for (let index = messages.length - 1; index >= 0; index--)
    if (lastBlockOf(messages[index]!.content) !== undefined) return index
  return -1
}
