import { createHash } from 'node:crypto'
import { v5 as uuidv5 } from 'uuid'
import { incarnationOf } from '../../core/messages/check.ts'
import type { Json, JsonObject } from '../../core/messages/json.ts'
import type {
  CompactionRecord,
  HistoryHead,
  ReplacementRecord,
  RequiredRecord,
  RowRecord,
} from '../../storage/records/records.ts'

/** The namespace from which the namespaces of sessions are made. */
const NAMESPACE = '6f0c2c5e-6f0b-4f6e-9f39-0d8a3c1b7e52'

/** The ids of a restored session, its compactions and its runs; message ids begin with the incarnation. */
export type Names = {
  readonly incarnation: string
  readonly compaction: (id: string) => string
}

/** Returns the original ids. */
export function ownNames({ session }: HistoryHead): Names {
  return { incarnation: session.incarnation, compaction: (id) => id }
}

/** Returns different ids, always the same for a session, so that no two sessions of a store share one. */
export function namesWithin(sessionId: string, { session }: HistoryHead): Names {
  // Ids of sessions are unique for an owner.
  const { owner } = session
  const name = owner === undefined ? sessionId : `${owner}\0${sessionId}`
  const namespace = uuidv5(name, NAMESPACE)
  const digest = createHash('sha256')
    .update(JSON.stringify([name, session.incarnation]))
    .digest()
  return {
    incarnation: incarnationOf(digest.subarray(0, 12)),
    compaction: (id) => uuidv5(id, namespace),
  }
}

/** Gives the records of one history their new ids. */
export class Renaming {
  readonly #names: Names
  readonly #own: string
  readonly #known: ReadonlySet<string>

  constructor(head: HistoryHead, names: Names) {
    this.#names = names
    this.#own = `${head.session.incarnation}:`
    const runs = head.audit.flatMap(({ run }) => (run === undefined ? [] : [run]))
    const notes = head.notes.map(({ id }) => id)
    this.#known = new Set([...head.compactions.flatMap(({ id, run }) => [id, run]), ...runs, ...notes])
  }

  /**
   * Returns a head with the new ids, also in parameters and in the audit. A running attempt has no process here, so it is marked as
   * expired.
   */
  head(head: HistoryHead, sessionId: string): HistoryHead {
    const { compaction: names, incarnation } = this.#names
    const within = <T extends Json | undefined>(value: T): T => this.#json(value) as T
    const named = (id: string | undefined): { compaction?: string } =>
      id === undefined ? {} : { compaction: names(id) }
    return {
      ...head,
      session: { ...head.session, id: sessionId, incarnation },
      compactions: head.compactions.map(
        (one): CompactionRecord => ({
          ...one,
          id: names(one.id),
          run: names(one.run),
          status: one.status === 'running' ? 'expired' : one.status,
          ...(one.params !== undefined && { params: within<JsonObject>(one.params) }),
          ...(one.requires !== undefined && { requires: one.requires.map((part) => this.#required(part)) }),
          ...(one.lifts !== undefined && { lifts: one.lifts.map(names) }),
          ...(one.restores !== undefined && { restores: one.restores.map(names) }),
          ...(one.turned !== undefined && {
            turned: { lifted: one.turned.lifted.map(names), restored: one.turned.restored.map(names) },
          }),
        }),
      ),
      audit: head.audit.map((one) => ({
        ...one,
        ...named(one.compaction),
        ...(one.run !== undefined && { run: names(one.run) }),
        ...(one.detail !== undefined && { detail: within<JsonObject>(one.detail) }),
      })),
      operations: head.operations.map((one) => ({ ...one, ...named(one.compaction) })),
      notes: head.notes.map((one) => ({
        ...one,
        id: names(one.id),
        ...(one.sourceSession === head.session.id && { sourceSession: sessionId }),
        ...(one.source !== undefined && { source: this.#messageId(one.source) }),
      })),
    }
  }

  /** Returns a row or a replacement with the new ids. */
  row<R extends RowRecord | ReplacementRecord>(record: R): R {
    const { compaction: names } = this.#names
    const { compaction, condenseParent, truncationParent } = record as Partial<
      Record<'compaction' | 'condenseParent' | 'truncationParent', string>
    >
    return {
      ...record,
      ...(record.type === 'replacement' && { message: this.#messageId(record.message) }),
      ...(compaction !== undefined && { compaction: names(compaction) }),
      ...(condenseParent !== undefined && { condenseParent: names(condenseParent) }),
      ...(truncationParent !== undefined && { truncationParent: names(truncationParent) }),
    }
  }

  #required({ message, part, by }: RequiredRecord): RequiredRecord {
    const ids = by?.map((id) => this.#messageId(id))
    return { message: this.#messageId(message), part, ...(ids !== undefined && { by: ids }) }
  }

  /** Ids that callers gave stay, because they are unique only within a session. */
  #messageId(id: string): string {
    return id.startsWith(this.#own) ? `${this.#names.incarnation}:${id.slice(this.#own.length)}` : id
  }

  /** Returns a value in which every text that is a known id is replaced. Keys stay, including the key `__proto__`. */
  #json(value: Json | undefined): Json | undefined {
    if (typeof value === 'string')
      return this.#known.has(value) ? this.#names.compaction(value) : this.#messageId(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((inner: Json) => this.#json(inner)!)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.#json(inner)]))
  }
}
