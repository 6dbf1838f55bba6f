import { isDeepStrictEqual } from 'node:util'
import { fromAnthropic, toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { checkLaws } from '../../src/core/model/laws.ts'
import { applyPlan, type Plan } from '../../src/core/model/plan.ts'
import type { View } from '../../src/core/model/view.ts'
import { measureMessage } from '../../src/core/tokens/measure.ts'
import {
  type Estimator,
  isUndertextError,
  type NewMessage,
  openStore,
  type Store,
  type StoredMessage,
  type ViewMessage,
} from '../../src/index.ts'
import type { SqliteStorage } from '../../src/storage/sqlite/storage.ts'
import { storageOf } from '../../src/store/store.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'
import type { RooMessage } from './roo-data.ts'
import { isInserted, isOwnedBy, isOwner, ownersInOrder, owns, textOf } from './roo-owners.ts'

/*
 * Roo Code's messages with their tags in, a session whose rows carry the same tags out. Messages are appended in
 * their order, each owner of a tag becomes a compaction: a condensation by the public verb with a given range and
 * text, a truncation through the port, for no public verb takes the rows of a truncation from its caller. The
 * laws hold for both.
 */

/** What becomes of tags that the laws do not allow: refused, left out as far as need be, or taken as they are. */
export type Laws = 'hold' | 'yield' | 'none'

/** Thrown for tags that rows and compactions cannot have, with the reason for people. */
export class NotImportable extends Error {}

/** The tags of a row, by Roo Code's ids of the owners. */
export type Tags = Pick<RooMessage, 'condenseParent' | 'truncationParent'>

export type Imported = {
  readonly sessionId: string
  /** The compactions by Roo Code's id of their owner, in the order they were made. */
  readonly compactions: ReadonlyMap<string, string>
  /** The ids of the rows by the index of the message. */
  readonly rowIds: readonly (string | undefined)[]
  /** The messages of our view, as indexes of the messages put in; each is compared in full on its way. */
  shown(): Promise<number[]>
  /** The tags our rows carry, by the index of the message. */
  tags(): Promise<Tags[]>
}

/** A store in memory for replays, with as many sessions as one wants. */
export class RooStore {
  readonly store: Store
  readonly #estimator: WordlessEstimator
  #sessions = 0
  #renderings = 0

  private constructor(store: Store, estimator: WordlessEstimator) {
    this.store = store
    this.#estimator = estimator
  }

  static async open(): Promise<RooStore> {
    const estimator = wordlessEstimator()
    return new RooStore(await openStore(':memory:', { estimator }), estimator)
  }

  close(): Promise<void> {
    return this.store.close()
  }

  /** Makes a text, of a summary or a marker, count nothing. */
  free(text: string): string {
    this.#estimator.free.add(text)
    return text
  }

  async newSession(): Promise<string> {
    this.#sessions += 1
    return (await this.store.sessions.create({ id: `s${this.#sessions}` })).id
  }

  /**
   * Puts messages with their tags into a session of their own. An owner that is not among the messages was
   * deleted by Roo Code: its compaction is made, and undone at the end.
   *
   * With `laws: 'yield'`, a compaction leaves alone what the laws do not let it hide; with `laws: 'none'` every owner
   * is put in through the port, which takes a plan as it was checked, and this one never was: the tags as they are.
   *
   * Throws `NotImportable`, and what the laws throw.
   */
  async import(
    messages: readonly RooMessage[],
    { laws = 'hold' }: { readonly laws?: Laws } = {},
  ): Promise<Imported> {
    const nameless = messages.filter((message) => isInserted(message) && !isOwner(message))
    if (nameless.length > 0) throw new NotImportable('a summary without an id stands for no message')
    const sessionId = await this.newSession()
    const indexes = new Map<string, number>()
    const own = messages.flatMap((message, index) => (isInserted(message) ? [] : [index]))
    const rows = own.map((index) => rowFrom(messages[index]!))
    const appended = rows.length === 0 ? [] : (await this.store.append(sessionId, rows)).messages
    for (const [nth, { id }] of appended.entries()) indexes.set(id, own[nth]!)
    const compactions = new Map<string, string>()
    const deleted: string[] = []
    for (const owner of ownersInOrder(messages)) {
      const at = messages.findIndex((message) => owns(message, owner))
      const text = this.free(at === -1 ? `[${owner.id} was deleted]` : textOf(messages[at]!))
      const view = await this.store.getEffectiveHistory(sessionId)
      const covered = view
        .map(({ id }) => id)
        .filter((id) => isOwnedBy(messages[indexes.get(id)!] ?? {}, owner))
      const id =
        owner.kind === 'condense' && laws !== 'none'
          ? await this.#condense(sessionId, covered, text, laws === 'yield')
          : await this.#commit(sessionId, owner.kind, covered, text, laws)
      if (id === undefined) continue
      compactions.set(owner.id, id)
      const { insertedIds } = await this.store.compactions.get(sessionId, id)
      indexes.set(insertedIds[0]!, at)
      if (at === -1) deleted.push(id)
    }
    for (const id of deleted.reverse()) await this.store.undoCompaction(sessionId, id)
    return this.#imported(sessionId, messages, indexes, compactions)
  }

  #imported(
    sessionId: string,
    messages: readonly RooMessage[],
    indexes: ReadonlyMap<string, number>,
    compactions: ReadonlyMap<string, string>,
  ): Imported {
    const rowIds: (string | undefined)[] = messages.map(() => undefined)
    for (const [id, index] of indexes) if (index !== -1) rowIds[index] = id
    const ownerOf = new Map([...compactions].map(([owner, id]) => [id, owner] as const))
    const indexOf = (row: ViewMessage | StoredMessage): number => {
      const index = indexes.get(row.id)
      if (index === undefined) throw new Error(`the row ${row.id} was not put in`)
      if (index !== -1 && !isStoredAs(messages[index]!, row))
        throw new Error(`message ${index} came back as another`)
      return index
    }
    return {
      sessionId,
      compactions,
      rowIds,
      shown: async () => {
        await expectSessionAccepted(this.store, sessionId, sessionId, providerOfStep(this.#renderings++))
        return (await this.store.getEffectiveHistory(sessionId)).map(indexOf)
      },
      tags: async () => {
        const tags: Tags[] = messages.map(() => ({}))
        for (const row of await this.store.getMessages(sessionId)) {
          const [condensed, truncated] = [row.condenseParent, row.truncationParent].map(
            (id) => id && (ownerOf.get(id) ?? id),
          )
          tags[indexOf(row)] = {
            ...(condensed !== undefined && { condenseParent: condensed }),
            ...(truncated !== undefined && { truncationParent: truncated }),
          }
        }
        return tags
      },
    }
  }

  /** Condenses rows that follow each other; `undefined` where nothing is left to stand for. */
  async #condense(
    sessionId: string,
    covered: readonly string[],
    summary: string,
    lawful: boolean,
  ): Promise<string | undefined> {
    if (covered.length === 0) {
      if (lawful) return undefined
      throw new NotImportable('a summary stands for messages, and there are none')
    }
    const view = await this.store.getEffectiveHistory(sessionId)
    const ids = view.map(({ id }) => id)
    const span = ids.slice(ids.indexOf(covered[0]!), ids.indexOf(covered.at(-1)!) + 1)
    if (span.length !== covered.length)
      throw new NotImportable('a summary stands for messages that follow each other')
    const stored = await this.store.getMessages(sessionId)
    const anchorOf = (id: string): number => stored.find((row) => row.id === id)!.anchor
    const range = { from: anchorOf(covered[0]!), to: anchorOf(covered.at(-1)!) }
    try {
      const result = await this.store.compactSession(sessionId, { range, summary })
      const [made] = result!.compactions
      if (made?.rowsHidden !== covered.length) throw new Error(`not what was asked for: ${sessionId}`)
      return made.id
    } catch (error) {
      if (!lawful || !isUndertextError(error, 'PENDING_TOOL_CALLS')) throw error
      // The calls stay, so the summary replaces the last run of messages between them, and the rest is hidden.
      const open = new Set(error.facts.messageIds)
      const end = covered.findLastIndex((id) => !open.has(id)) + 1
      const start = covered.slice(0, end).findLastIndex((id) => open.has(id)) + 1
      const condensed = covered.slice(start, end)
      const hidden = covered.slice(0, start).filter((id) => !open.has(id))
      if (hidden.length > 0) await this.store.compactions.hide(sessionId, hidden)
      return this.#condense(sessionId, condensed, summary, lawful)
    }
  }

  /** Hides rows under a marker or a summary, through the port; `undefined` where nothing is left to hide. */
  async #commit(
    sessionId: string,
    kind: 'condense' | 'truncate',
    covered: readonly string[],
    text: string,
    laws: Laws,
  ): Promise<string | undefined> {
    const storage = storageOf(this.store) as SqliteStorage
    const snapshot = storage.snapshot(sessionId, 'openai')!
    const { view } = snapshot
    const hidden = laws === 'yield' ? withoutForbidden(view, covered) : new Set(covered)
    if (hidden.size === 0) {
      if (laws === 'yield') return undefined
      throw new NotImportable('a marker stands for messages, and there are none')
    }
    const sizes = measureMessage({ content: text }, this.#estimator)
    const plan: Plan = {
      kind,
      hide: view.rows.filter(({ id }) => hidden.has(id)),
      replace: [],
      insert: { kind: kind === 'condense' ? 'summary' : 'marker', role: 'system', text, metadata: {}, sizes },
      requires: [],
      params: {},
    }
    if (laws !== 'none') checkLaws(sessionId, view, plan)
    const id = `${sessionId}-${snapshot.nextOrdinal}`
    const step = { ...applyPlan(view, plan, -1, snapshot.nextOrdinal), id, createdAt: Date.now() }
    const by = { trigger: 'import', actor: undefined, reason: undefined } as const
    storage.commit(snapshot, { runId: `${id}-run`, ...by, steps: [step], failed: [] }, undefined)
    return id
  }
}

/** What a truncation may hide of `ids`: no summary, no call without a result, and no half of what belongs together. */
function withoutForbidden({ rows, turns }: View, ids: readonly string[]): Set<string> {
  const hidden = new Set(ids)
  for (const { id, kind } of rows) if (kind === 'summary') hidden.delete(id)
  for (const [index, { id }] of rows.entries()) {
    const isWhole = turns.groupOf(index).every((member) => hidden.has(rows[member]!.id))
    if (!isWhole || turns.pending.has(index)) hidden.delete(id)
  }
  return hidden
}

type WordlessEstimator = Estimator & { readonly free: Set<string> }

/**
 * Every text counts one unit, a freed one none: whether a summary is worth its tokens is no question to
 * conversations of a few words, and Roo Code does not ask it.
 */
function wordlessEstimator(): WordlessEstimator {
  const free = new Set<string>([''])
  return {
    name: 'wordless',
    free,
    measureText: (text) => (free.has(text) ? 0 : 1),
    mediaTokens: 1,
    toTokens: (units) => units,
    tokensPerMessage: 1,
    tokensPerConversation: 0,
  }
}

/** A message as a row. Its other fields, tags and time among them, ride along, so that all of it can be compared. */
export function rowFrom(message: RooMessage): NewMessage {
  const { role, content } = message
  if (role === 'system') return { role, content: textOf({ content }) }
  return fromAnthropic([message])[0]!
}

/** Whether a row is the message in full; of a system message and an inserted row, its text. */
function isStoredAs(message: RooMessage, row: ViewMessage | StoredMessage): boolean {
  if (row.kind !== 'message' || message.role === 'system') return row.content === textOf(message)
  return isDeepStrictEqual(toAnthropic([row]).messages, [message])
}
