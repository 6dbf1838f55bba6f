import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { errorName, invalid, UndertextError } from '../../core/errors.ts'
import { check } from '../../core/messages/check.ts'
import { defined, isObject } from '../../core/messages/json.ts'
import type { StoredMessage, ViewMessage } from '../../core/messages/message.ts'
import type { Session } from '../../storage/storage.ts'
import { unlessUnknown } from '../../store/arguments.ts'
import type { CompactionResult } from '../../store/compaction/result.ts'
import type { RewindOptions } from '../../store/rewind.ts'
import type { ConversionOptions } from '../conversion.ts'
import { forkBeside } from '../forks.ts'
import { ownedStore } from '../owned-store.ts'
import { appendNamed, recordAnswers, Unanswered } from '../recovering.ts'
import { fromAgentItems } from './from-items.ts'
import type { AgentItem } from './item-shapes.ts'
import {
  type AgentModel,
  type AgentModelProvider,
  isSame,
  placeAt,
  type ReturnedHistory,
  recovering,
} from './recovering-model.ts'
import {
  type SessionForkOptions,
  type SessionStore,
  sessionForkSchema,
  sessionSchema,
  type UndertextSessionOptions,
} from './session-options.ts'
import {
  applyMutations,
  checkMutations,
  checkTransaction,
  type Decide,
  type HistoryMutation,
  type HistoryTransaction,
  type Operation,
  popNewest,
  replaceSuffix,
  rewriteHistory,
  type ShownRow,
  shownRows,
} from './session-rewrites.ts'
import { toAgentItems, toItemsOfEach } from './to-items.ts'

/** The state of a session when its history was read. */
type SessionState = Pick<Session, 'messageCount' | 'viewEpoch'>

function stateOf(session: Session | undefined): SessionState {
  return { messageCount: session?.messageCount ?? 0, viewEpoch: session?.viewEpoch ?? 0 }
}

/** `params.by` of the rewinds of a session; `params.why` is the method. */
const BY = 'openai-agents'
/** The methods that rewind a whole history, including messages that a compaction hid. */
const WHOLE: readonly unknown[] = ['clearSession', 'replaceHistoryWithCompaction']

/**
 * The messages that were not rewound, whatever compactions hide: no rewind hides the message, or the summary or marker that replaces it.
 */
async function fullHistory(store: SessionStore, sessionId: string): Promise<StoredMessage[]> {
  const rows = await store.getMessages(sessionId)
  const compactions = await store.listCompactions(sessionId)
  const rewinds = compactions.filter(({ status, params }) => status === 'active' && params.rewind === true)
  if (rewinds.length === 0) return rows.filter(({ kind }) => kind === 'message')

  const rewindIds = new Set(rewinds.map(({ id }) => id))
  // Everything that an earlier compaction hides was rewound with the whole history.
  const places = new Map(compactions.map(({ id }, i) => [id, i]))
  const isWhole = ({ params }: (typeof rewinds)[number]): boolean =>
    params.by === BY && WHOLE.includes(params.why)
  const cleared = places.get(rewinds.findLast(isWhole)?.id ?? '') ?? 0
  const inserted = new Map(rows.map((row) => [row.condenseId ?? row.truncationId, row]))
  const isGone = (row: StoredMessage): boolean => {
    const parent = row.condenseParent ?? row.truncationParent
    if (parent === undefined) return false
    if (rewindIds.has(parent) || (places.get(parent) ?? cleared) < cleared) return true
    const replacement = inserted.get(parent)
    return replacement !== undefined && isGone(replacement)
  }
  return rows.filter((row) => row.kind === 'message' && !isGone(row))
}

/** Arguments of the SDK's runner for a compaction after a turn. Only `force` is used. */
type RunCompactionArgs = { readonly force?: boolean | undefined }

/**
 * A conversation of the OpenAI Agents SDK in a store, for `run(agent, input, { session })`. It is a `Session` with all optional
 * capabilities of the SDK: run context, rewrites, transactions, and compaction after a turn.
 *
 * One item is one message of the log. Nothing is destroyed: popped, cleared, changed or replaced items are hidden by a compaction of kind
 * `manual`, which `store.listCompactions` lists and `store.undoCompaction` undoes. Every method is one transaction, even if other processes
 * use the session.
 *
 * Methods throw the store's errors, and `INVALID_INPUT` for values that aren't items, before they change anything.
 */
export class UndertextSession {
  readonly acceptsRunContext = true as const
  readonly #store: SessionStore
  readonly #id: string
  readonly #options: Omit<UndertextSessionOptions, 'store' | 'sessionId'>
  /** Receipts for reading the history: the last reader may compact it while no one else changes it. They exist only in this process. */
  readonly #receipts = new WeakMap<object, SessionState>()
  readonly #unanswered = new Unanswered<object, readonly object[]>({ placeAt, isSame })
  /** What `getItems` last returned in full. */
  #returned: ReturnedHistory | undefined

  /** Throws `INVALID_INPUT`. */
  constructor(options: UndertextSessionOptions) {
    check(sessionSchema, options, 'UndertextSession')
    const { store, sessionId, ...rest } = options
    this.#store = ownedStore(store, options.owner)
    this.#id = sessionId ?? uuidv7()
    this.#options = rest
  }

  /** The session's id in the store. */
  async getSessionId(): Promise<string> {
    return this.#id
  }

  /**
   * Returns the history, oldest first; with `limit`, only the newest `limit` items. By default it is the effective history: summaries as
   * system messages, and large outputs as the previews that the store shows. Set `view: 'full'` in the constructor for the full history.
   */
  async getItems(limit?: number, _runContext?: unknown): Promise<AgentItem[]> {
    if (limit !== undefined && limit <= 0) return []
    const items = this.#options.view === 'full' ? await this.#fullItems() : await this.#viewItems()
    return limit === undefined ? items : items.slice(Math.max(items.length - limit, 0))
  }

  async #fullItems(): Promise<AgentItem[]> {
    return toAgentItems((await unlessUnknown(fullHistory(this.#store, this.#id))) ?? [], this.#notes)
  }

  async #viewItems(): Promise<AgentItem[]> {
    const view = await this.#view()
    const items = itemsOf(this.#shown(view, this.#notes))
    const last = view.reduce((most, { position = 0 }) => Math.max(most, position), 0)
    this.#returned = {
      shown: [...items],
      countStoredSince: async () => (await this.#view()).filter(({ position = 0 }) => position > last).length,
      again: async () =>
        itemsOf(this.#shown((await this.#view()).filter(({ position = 0 }) => position <= last))),
    }
    return items
  }

  /**
   * Returns a model or model provider that recovers from overflows and rejections, and records usage, provider and model in this session:
   * for `model` of an agent, or `modelProvider` of a `Runner`. A request that overflows is compacted, and a request that is rejected for
   * its content is repaired. Either is sent again before any part of a response is passed on, with only the history in its input replaced.
   * An input that doesn't begin with the whole history, because a filter or an input callback changed it, is sent unchanged, as is the
   * input of a conversation that the server keeps.
   */
  recovering<T extends AgentModel | AgentModelProvider>(model: T): T {
    check(modelSchema, model, 'recovering')
    return recovering(model, {
      ...this.#options,
      store: this.#store,
      sessionId: this.#id,
      returned: () => this.#returned,
      beginCall: (last) => this.#unanswered.beginCall(last),
    })
  }

  /**
   * Copies the session, as it is or as it was after or before an item, and returns the copy as a session with the same options
   * (`sessions.fork` of the store). Ids of operations of `applyHistoryTransaction` are not copied.
   *
   * Throws `SESSION_NOT_FOUND` before the first item was added, `SESSION_EXISTS`, `MESSAGE_NOT_FOUND` for an unknown id, and
   * `INVALID_INPUT` for a place without an item.
   */
  async fork(options: SessionForkOptions = {}): Promise<UndertextSession> {
    const { at, sessionId: id, title } = check(sessionForkSchema, options, 'fork')
    const place =
      at && ('afterItem' in at ? { afterMessage: at.afterItem } : { beforeMessage: at.beforeItem })
    const sessionId = await forkBeside(this.#store, this.#id, { id, title }, place, (item) =>
      this.#rowsOf(item),
    )
    return new UndertextSession({ ...this.#options, store: this.#store, sessionId })
  }

  async #rowsOf(item: string | number): Promise<readonly { readonly id: string }[] | undefined> {
    const rows = (await this.#rows()).flatMap(({ row, shown }) => shown.map(({ id }) => ({ row, id })))
    const found = typeof item === 'number' ? rows[item] : rows.findLast(({ id }) => id === item)
    if (found === undefined && typeof item === 'number')
      throw invalid('fork: at: the session has no item at this index')
    return found && [found.row]
  }

  /** The rows that `getItems` returns, each with its items. */
  async #rows(): Promise<{ readonly row: { readonly id: string }; readonly shown: readonly AgentItem[] }[]> {
    if (this.#options.view !== 'full') return this.#shown(await this.#view())
    const rows = (await unlessUnknown(fullHistory(this.#store, this.#id))) ?? []
    return toItemsOfEach(rows).map((shown, at) => ({ row: rows[at]!, shown }))
  }

  /** Appends items in order, all or none. */
  async addItems(items: readonly object[], _runContext?: unknown): Promise<void> {
    await this.#add(items)
  }

  /** Removes the newest item and returns it as it was added. Two callers never get the same item. */
  async popItem(_runContext?: unknown): Promise<AgentItem | undefined> {
    let item: AgentItem | undefined
    await this.#rewrite('popItem', (rows, originals) => {
      const popped = popNewest(rows, originals)
      item = popped?.item
      return popped?.rewrite
    })
    return item
  }

  /** Hides all items. The session, its settings and its log stay. */
  async clearSession(_runContext?: unknown): Promise<void> {
    const rewound = { ...WHOLE_HISTORY, ...this.#authorship('clearSession') }
    await unlessUnknown(this.#store.rewind(this.#id, rewound))
  }

  /** Returns the item unchanged: the model is sent stored items as they are. */
  prepareHistoryItemForModelInput<Item>(item: Item): Item {
    return item
  }

  /** Returns the items unchanged: they are compared with stored items as they are. */
  prepareHistoryItemsForPersistenceComparison<Item>(items: Item[]): Item[] {
    return items
  }

  /** Returns false, as in the SDK's own sessions: if the run removes ids of reasoning from requests, the store doesn't keep them either. */
  preserveReasoningItemIdsForPersistence(): boolean {
    return false
  }

  /** Replaces all items with these. */
  async replaceHistoryWithCompaction(items: readonly object[], _runContext?: unknown): Promise<void> {
    // The rewind reads the items later, when the caller may have changed its list.
    const append = structuredClone(fromAgentItems(items, this.#notes))
    const rewound = { ...WHOLE_HISTORY, append, ...this.#authorship('replaceHistoryWithCompaction') }
    await unlessUnknown(this.#store.rewind(this.#id, rewound))
  }

  /** Changes calls in the history: everything from the first changed item on is rewound and appended again. */
  async applyHistoryMutations(args: { readonly mutations: readonly HistoryMutation[] }): Promise<void> {
    const mutations = checkMutations(args)
    if (mutations.length === 0) return
    await this.#rewrite('applyHistoryMutations', (rows, originals) =>
      applyMutations(rows, mutations, originals),
    )
  }

  /**
   * Appends items, or replaces the newest items, once per operation id, however often it is called. Ids are remembered as long as the
   * session exists, even if it is cleared.
   *
   * Throws `OPERATION_CONFLICT` if the id was used for another transaction, and `STALE_PLAN` if the newest items aren't the expected ones.
   * Nothing is changed then.
   */
  async applyHistoryTransaction(
    args: { readonly operationId: string; readonly transaction: HistoryTransaction },
    _runContext?: unknown,
  ): Promise<void> {
    const { operationId, operationBody, expected, replacement } = checkTransaction(args)
    const decide: Decide = (rows, originals) => {
      const rewrite = replaceSuffix(rows, expected, replacement, originals)
      if (rewrite !== 'other') return rewrite
      const why = "the newest items aren't the expected ones"
      throw new UndertextError('STALE_PLAN', { sessionId: this.#id, why, messageIds: [] })
    }
    await this.#rewrite('applyHistoryTransaction', decide, { operationId, operationBody })
  }

  /** Returns the history, and a receipt that allows its holder to compact it while no one else changes it. */
  async getItemsWithCompactionOwnership(
    runContext?: unknown,
  ): Promise<{ items: AgentItem[]; ownership: object }> {
    // The session is read first: a change in between makes the receipt stale, never wrong.
    const ownership = {}
    this.#receipts.set(ownership, stateOf(await this.#session()))
    return { items: await this.getItems(undefined, runContext), ownership }
  }

  /** Appends items as `addItems` does; a valid receipt stays valid. */
  async addItemsWithCompactionOwnership(
    items: readonly object[],
    ownership: object | null,
    _runContext?: unknown,
  ): Promise<void> {
    const { length } = items
    const position = await this.#add(items)
    const state = this.#receipts.get(ownership ?? {})
    if (ownership === null || state === undefined || position === undefined) return
    if (state.messageCount + length === position)
      this.#receipts.set(ownership, { ...state, messageCount: position })
    else this.#receipts.delete(ownership)
  }

  /**
   * Compacts the session when due, unless the option `compact` is false; with `force`, always. The SDK's runner calls this after each turn
   * it stored, with a receipt; a stale receipt compacts nothing. Returns the usage of the models that wrote summaries, else null.
   */
  async runCompaction(
    args: RunCompactionArgs = {},
    _runContext?: unknown,
    ownership?: object | null,
  ): Promise<CompactionAnswer | null> {
    const { compact, onCompactionError, provider, model } = this.#options
    const isForced = args.force === true
    if (compact === false && !isForced) return null
    const session = await this.#session()
    if (session === undefined) return null
    if (ownership !== undefined) {
      const state = this.#receipts.get(ownership ?? {})
      if (!isDeepStrictEqual(state, stateOf(session))) return null
    }
    try {
      if (!isForced && !(await this.#store.needsCompaction(this.#id, provider, model))) return null
      const given = typeof compact === 'object' ? compact : {}
      const options = { ...defined({ provider, model }), ...given }
      return usageOf(await this.#store.compactSession(this.#id, options))
    } catch (error) {
      if (ownership === undefined) throw error
      if (onCompactionError !== undefined) onCompactionError(error)
      else process.emitWarning(`A session wasn't compacted after a turn: ${errorName(error)}`)
      return null
    }
  }

  /** Appends items; returns the last position, or `undefined` if there was nothing to append. */
  async #add(items: readonly object[]): Promise<number | undefined> {
    const messages = fromAgentItems(items, this.#notes)
    if (messages.length === 0) return undefined
    const given = [...items]
    const appended = await appendNamed(this.#store, this.#id, messages, this.#options)
    await recordAnswers(this.#store, this.#id, this.#unanswered.take(given, appended.messages))
    return appended.position
  }

  async #rewrite(method: string, decide: Decide, operation?: Operation): Promise<void> {
    const show = (view: readonly ViewMessage[]): ShownRow[] => this.#shown(view)
    await rewriteHistory(this.#store, this.#id, show, decide, { ...operation, ...this.#authorship(method) })
  }

  #shown(view: readonly ViewMessage[], notes: ConversionOptions = {}): ShownRow[] {
    const { summaryRole, summaryHeader, preset } = this.#options
    return shownRows(view, defined({ summaryRole, summaryHeader, preset }), notes)
  }

  async #view(): Promise<ViewMessage[]> {
    return (await unlessUnknown(this.#store.getEffectiveHistory(this.#id))) ?? []
  }

  #session(): Promise<Session | undefined> {
    return unlessUnknown(this.#store.sessions.get(this.#id))
  }

  #authorship(method: string): Pick<RewindOptions, 'reason' | 'params'> & {
    readonly actor?: string
  } {
    const params = { by: BY, why: method }
    return { reason: `${BY}: ${method}`, params, ...defined({ actor: this.#options.actor }) }
  }

  get #notes() {
    return { onNote: this.#options.onNote }
  }
}

/** A rewind of everything visible. */
const WHOLE_HISTORY = { from: 'start', keepCompactions: true } as const

function itemsOf(rows: readonly ShownRow[]): AgentItem[] {
  return rows.flatMap(({ shown }) => shown)
}

const modelSchema = z.custom<object>(
  (value) => isObject(value) && ('getResponse' in value || 'getModel' in value),
  'must be a model or a model provider',
)

/** The usage of a compaction, as the SDK counts it. */
export type CompactionAnswer = {
  usage: {
    inputTokens: number
    outputTokens: number
    totalTokens: number
    inputTokensDetails: { [name: string]: number }
    outputTokensDetails: { [name: string]: number }
    endpoint: string
  }
}

/**
 * The tokens of all summaries of a run in the SDK's form; null when no model was called. `inputTokens` includes
 * tokens read from and written to a cache. Source: `RequestUsage` of `@openai/agents-core`.
 */
function usageOf(result: CompactionResult | null): CompactionAnswer | null {
  if (result?.usage === undefined) return null
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens, cacheCreationTokens } = result.usage
  return {
    usage: {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      inputTokensDetails: defined({
        cached_tokens: cacheReadTokens,
        cache_write_tokens: cacheCreationTokens,
      }) as { [name: string]: number },
      outputTokensDetails: {},
      endpoint: 'undertext.compactSession',
    },
  }
}
