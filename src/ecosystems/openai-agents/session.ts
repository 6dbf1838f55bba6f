import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import type { CompactionResult } from '../../compaction/result.ts'
import { isUndertextError, UndertextError } from '../../errors.ts'
import { check } from '../../messages/check.ts'
import { isObject } from '../../messages/json.ts'
import type { StoredMessage, ViewMessage } from '../../messages/message.ts'
import type { Session } from '../../storage/storage.ts'
import { unlessUnknown } from '../../store/arguments.ts'
import type { ConversionOptions } from '../conversion.ts'
import { appendNamed } from '../recovering.ts'
import { fromAgentItems } from './from-items.ts'
import type { AgentItem } from './item-types.ts'
import { type AgentModel, type AgentModelProvider, type HandedOut, recovering } from './recovering-model.ts'
import { type SessionStore, sessionSchema, type UndertextSessionOptions } from './session-options.ts'
import {
  checkMutations,
  checkTransaction,
  type Decide,
  type HistoryMutation,
  type HistoryTransaction,
  mutated,
  type Operation,
  poppedOf,
  rewriteHistory,
  type ShownRow,
  shownRows,
  suffixReplaced,
} from './session-rewrites.ts'
import { toAgentItems } from './to-items.ts'

/** Where a session stood when its history was read. */
type Standing = Pick<Session, 'messageCount' | 'viewEpoch'>

/**
 * Receipts of reading a history: whoever read it last, and saw no other change of it since, may compact it. They live in this
 * process alone.
 */
export class CompactionOwnership {
  readonly #standings = new WeakMap<object, Standing>()

  /** A receipt for the history of a session that stood like this, or of one that is not there yet. */
  receiptFor(session: Session | undefined): object {
    const receipt = {}
    this.#standings.set(receipt, standingOf(session))
    return receipt
  }

  /** Whether nobody changed the session since the receipt was given. */
  holds(receipt: object | null, session: Session | undefined): boolean {
    const standing = receipt === null ? undefined : this.#standings.get(receipt)
    const now = standingOf(session)
    return standing?.messageCount === now.messageCount && standing.viewEpoch === now.viewEpoch
  }

  /** Goes on owning what was appended by the owner: `count` messages, up to this position, with nothing in between. */
  extend(receipt: object | null, count: number, position: number): void {
    const standing = receipt === null ? undefined : this.#standings.get(receipt)
    if (receipt === null || standing === undefined) return
    if (standing.messageCount + count === position)
      this.#standings.set(receipt, { ...standing, messageCount: position })
    else this.#standings.delete(receipt)
  }
}

function standingOf(session: Session | undefined): Standing {
  return { messageCount: session?.messageCount ?? 0, viewEpoch: session?.viewEpoch ?? 0 }
}

/** The reasons of rewinds that take back a history as a whole, what a compaction hid included. */
const WHOLE_REASONS: ReadonlySet<string> = new Set([
  'openai-agents: clearSession',
  'openai-agents: replaceHistoryWithCompaction',
])

/**
 * The messages of the log that were not taken back, whatever compactions did to them: hidden by no rewind themselves, and
 * neither is the summary or marker that stands for them.
 */
async function fullHistory(store: SessionStore, sessionId: string): Promise<StoredMessage[]> {
  const rows = await store.getMessages(sessionId)
  const compactions = await store.listCompactions(sessionId)
  const rewinds = compactions.filter(({ status, params }) => status === 'active' && params.rewind === true)
  if (rewinds.length === 0) return rows.filter(({ kind }) => kind === 'message')

  const takenBack = new Set(rewinds.map(({ id }) => id))
  // Whatever an earlier compaction hides was there when the whole history was taken back.
  const places = new Map(compactions.map(({ id }, i) => [id, i]))
  const isWhole = ({ reason }: (typeof rewinds)[number]): boolean => WHOLE_REASONS.has(reason ?? '')
  const cleared = places.get(rewinds.findLast(isWhole)?.id ?? '') ?? 0
  const inserted = new Map(rows.map((row) => [row.condenseId ?? row.truncationId, row]))
  const isGone = (row: StoredMessage): boolean => {
    const parent = row.condenseParent ?? row.truncationParent
    if (parent === undefined) return false
    if (takenBack.has(parent) || (places.get(parent) ?? cleared) < cleared) return true
    const stands = inserted.get(parent)
    return stands !== undefined && isGone(stands)
  }
  return rows.filter((row) => row.kind === 'message' && !isGone(row))
}

/** What the SDK's runner says about a compaction after a turn. Only `force` concerns this session. */
type RunCompactionArgs = { readonly force?: boolean | undefined }

/**
 * A conversation of the OpenAI Agents SDK in a store: what `run(agent, input, { session })` takes. It is a `Session` with all
 * further capabilities the SDK knows: told of the run's context, rewrites, transactions, and compaction after a turn.
 *
 * One item is one message of the log. Nothing is destroyed: what is popped, cleared, changed or replaced is hidden by a
 * compaction of kind `manual`, which `store.listCompactions` names and `store.undoCompaction` takes back. Every method
 * is one transaction, whoever else works on the session, in this process or another.
 *
 * Methods throw the store's errors, and `INVALID_INPUT` for items that are none, before anything is changed.
 */
export class UndertextSession {
  readonly acceptsRunContext = true as const
  readonly #store: SessionStore
  readonly #id: string
  readonly #options: Omit<UndertextSessionOptions, 'store' | 'sessionId'>
  readonly #ownership = new CompactionOwnership()
  /** What `getItems` last handed out in full. */
  #handedOut: HandedOut | undefined

  /** Throws `INVALID_INPUT`. */
  constructor(options: UndertextSessionOptions) {
    check(sessionSchema, options, 'UndertextSession')
    const { store, sessionId, ...rest } = options
    this.#store = store
    this.#id = sessionId ?? uuidv7()
    this.#options = rest
  }

  /** The session's id in the store. */
  async getSessionId(): Promise<string> {
    return this.#id
  }

  /**
   * The history, oldest first; with a limit that many of the newest items. By default it is the effective history: summaries as
   * system messages, and large outputs as the previews the store shows. `view: 'full'` is set where the session is made.
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
    this.#handedOut = {
      shown: [...items],
      storedSince: async () => (await this.#view()).filter(({ position = 0 }) => position > last).length,
      again: async () =>
        itemsOf(this.#shown((await this.#view()).filter(({ position = 0 }) => position <= last))),
    }
    return items
  }

  /**
   * A model, or a provider of models, that recovers from overflows and records usage, provider and model in this session: for `model` of
   * an agent, or `modelProvider` of a `Runner`. A request that overflows is compacted and sent again before anything of its answer was
   * passed on; the history in its input is replaced, everything else stays. An input that does not begin with the whole history, because
   * a filter or an input callback changed it, is sent as it is; so is one of a conversation that the server keeps.
   */
  recovering<T extends AgentModel | AgentModelProvider>(asked: T): T {
    check(askedSchema, asked, 'recovering')
    return recovering(asked, {
      ...this.#options,
      store: this.#store,
      sessionId: this.#id,
      handedOut: () => this.#handedOut,
    })
  }

  /** Adds items at the end, all or none, in order. */
  async addItems(items: readonly object[], _runContext?: unknown): Promise<void> {
    await this.#add(items)
  }

  /** Takes the newest item back, and answers it as it was added. Two callers never get the same one. */
  async popItem(_runContext?: unknown): Promise<AgentItem | undefined> {
    let item: AgentItem | undefined
    await this.#rewrite('popItem', (rows, originals) => {
      const popped = poppedOf(rows, originals)
      item = popped?.item
      return popped?.rewrite
    })
    return item
  }

  /** Takes all items back. The session, its settings and its log stay. */
  async clearSession(_runContext?: unknown): Promise<void> {
    const rewound = { ...EVERYTHING, ...this.#said('clearSession') }
    await unlessUnknown(this.#store.rewind(this.#id, rewound))
  }

  /** Items as the model is sent them: as they are. */
  prepareHistoryItemForModelInput<Item>(item: Item): Item {
    return item
  }

  /** Items as they are compared with stored ones: as they are. */
  prepareHistoryItemsForPersistenceComparison<Item>(items: Item[]): Item[] {
    return items
  }

  /** Whether reasoning keeps its ids in the store when the run leaves them out of requests: no, as in the SDK's own sessions. */
  preserveReasoningItemIdsForPersistence(): boolean {
    return false
  }

  /** Takes all items back and adds these. */
  async replaceHistoryWithCompaction(items: readonly object[], _runContext?: unknown): Promise<void> {
    // A rewind reads them later; what was given may be changed by then.
    const append = structuredClone(fromAgentItems(items, this.#notes))
    const rewound = { ...EVERYTHING, append, ...this.#said('replaceHistoryWithCompaction') }
    await unlessUnknown(this.#store.rewind(this.#id, rewound))
  }

  /** Changes calls in the history: from the first changed item on all is taken back and said again. */
  async applyHistoryMutations(args: { readonly mutations: readonly HistoryMutation[] }): Promise<void> {
    const mutations = checkMutations(args)
    if (mutations.length === 0) return
    await this.#rewrite('applyHistoryMutations', (rows, originals) => mutated(rows, mutations, originals))
  }

  /**
   * Appends items, or puts items in place of the newest ones; once for each operation id, however often it is asked for. Ids are
   * remembered as long as the session is in the store, also when it is cleared.
   *
   * Throws `OPERATION_CONFLICT` when the id was used for another transaction, and `STALE_PLAN` when the newest items are not those
   * expected; nothing is changed then.
   */
  async applyHistoryTransaction(
    args: { readonly operationId: string; readonly transaction: HistoryTransaction },
    _runContext?: unknown,
  ): Promise<void> {
    const { operationId, operationBody, expected, replacement } = checkTransaction(args)
    const decide: Decide = (rows, originals) => {
      const rewrite = suffixReplaced(rows, expected, replacement, originals)
      if (rewrite === 'other') throw new OtherEnd()
      return rewrite
    }
    try {
      await this.#rewrite('applyHistoryTransaction', decide, { operationId, operationBody })
    } catch (error) {
      if (!(error instanceof OtherEnd)) throw error
      const why = 'the newest items are not those expected'
      throw new UndertextError('STALE_PLAN', { sessionId: this.#id, why, messageIds: [] })
    }
  }

  /** The history, and a receipt that lets whoever read it compact it as long as nobody else changes it. */
  async getItemsWithCompactionOwnership(
    runContext?: unknown,
  ): Promise<{ items: AgentItem[]; ownership: object }> {
    // The session first: a change in between makes the receipt stale, never wrong.
    const ownership = this.#ownership.receiptFor(await this.#session())
    return { items: await this.getItems(undefined, runContext), ownership }
  }

  /** Adds items as `addItems` does; a receipt that still holds goes on holding. */
  async addItemsWithCompactionOwnership(
    items: readonly object[],
    ownership: object | null,
    _runContext?: unknown,
  ): Promise<void> {
    const { length } = items
    const position = await this.#add(items)
    if (position !== undefined) this.#ownership.extend(ownership, length, position)
  }

  /**
   * Compacts the session when that is due, unless the option `compact` is false; with `force` in any case. The SDK's runner calls this
   * after each turn it has stored, with a receipt; one that no longer holds compacts nothing. Answers what models took that were
   * asked for summaries, else null.
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
    if (ownership !== undefined && !this.#ownership.holds(ownership, session)) return null
    try {
      if (!isForced && !(await this.#store.needsCompaction(this.#id, provider, model))) return null
      const asked = typeof compact === 'object' ? compact : {}
      const named = { ...(provider !== undefined && { provider }), ...(model !== undefined && { model }) }
      return usageOf(await this.#store.compactSession(this.#id, { ...named, ...asked }))
    } catch (error) {
      if (ownership === undefined) throw error
      if (onCompactionError !== undefined) onCompactionError(error)
      else process.emitWarning(`A session was not compacted after a turn: ${nameOf(error)}`)
      return null
    }
  }

  /** Appends items; answers the last position, or `undefined` when there was nothing to add. */
  async #add(items: readonly object[]): Promise<number | undefined> {
    const messages = fromAgentItems(items, this.#notes)
    if (messages.length === 0) return undefined
    return (await appendNamed(this.#store, this.#id, messages, this.#options)).position
  }

  async #rewrite(method: string, decide: Decide, operation?: Operation): Promise<void> {
    const show = (view: readonly ViewMessage[]): ShownRow[] => this.#shown(view)
    await rewriteHistory(this.#store, this.#id, show, decide, { ...operation, ...this.#said(method) })
  }

  #shown(view: readonly ViewMessage[], notes: ConversionOptions = {}): ShownRow[] {
    const { summaryRole, summaryHeader, preset } = this.#options
    const manner = {
      ...(summaryRole !== undefined && { summaryRole }),
      ...(summaryHeader !== undefined && { summaryHeader }),
      ...(preset !== undefined && { preset }),
    }
    return shownRows(view, manner, notes)
  }

  async #view(): Promise<ViewMessage[]> {
    return (await unlessUnknown(this.#store.getEffectiveHistory(this.#id))) ?? []
  }

  #session(): Promise<Session | undefined> {
    return unlessUnknown(this.#store.getSession(this.#id))
  }

  #said(method: string): { readonly reason: string; readonly actor?: string } {
    const { actor } = this.#options
    return { reason: `openai-agents: ${method}`, ...(actor !== undefined && { actor }) }
  }

  get #notes() {
    return { onNote: this.#options.onNote }
  }
}

/** A rewind that hides what is visible. */
const EVERYTHING = { from: 'start', keepCompactions: true } as const

class OtherEnd extends Error {}

function itemsOf(rows: readonly ShownRow[]): AgentItem[] {
  return rows.flatMap(({ shown }) => shown)
}

const askedSchema = z.custom<object>(
  (value) => isObject(value) && ('getResponse' in value || 'getModel' in value),
  'must be a model or a provider of models',
)

function nameOf(error: unknown): string {
  if (isUndertextError(error)) return error.code
  return error instanceof Error ? error.name : 'unknown'
}

/** What a compaction took, as the SDK counts it. */
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
 * The tokens of all summaries of a run, in the SDK's words; null when no model was asked. `inputTokens` holds those read from and
 * written to a cache. Source: `RequestUsage` of `@openai/agents-core`.
 */
function usageOf(result: CompactionResult | null): CompactionAnswer | null {
  if (result?.usage === undefined) return null
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens, cacheCreationTokens } = result.usage
  return {
    usage: {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      inputTokensDetails: {
        ...(cacheReadTokens !== undefined && { cached_tokens: cacheReadTokens }),
        ...(cacheCreationTokens !== undefined && { cache_write_tokens: cacheCreationTokens }),
      },
      outputTokensDetails: {},
      endpoint: 'undertext.compactSession',
    },
  }
}
