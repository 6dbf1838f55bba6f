import { v5 as uuidv5 } from 'uuid'
import type { CompactionRecord, HistoryHead, ReplacementRecord, RowRecord } from '../core/history/records.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** The namespace of the namespaces of sessions. */
const NAMESPACE = '6f0c2c5e-6f0b-4f6e-9f39-0d8a3c1b7e52'

/** What compactions and runs are called in the session a history is restored as. */
export type Names = (id: string) => string

/** The names they have. */
export const OWN_NAMES: Names = (id) => id

/** Other names, always the same for a session: compactions have one name in the whole store. */
export function namesWithin(sessionId: string): Names {
  const namespace = uuidv5(sessionId, NAMESPACE)
  return (id) => uuidv5(id, namespace)
}

/**
 * A head as it is restored: under its session's new id, compactions and runs by their names there, also where parameters and the audit name
 * them. An attempt that was running is made by nobody here, so it has expired.
 */
export function renamedHead(head: HistoryHead, sessionId: string, names: Names): HistoryHead {
  const known = new Set(head.compactions.flatMap(({ id, run }) => [id, run]))
  for (const { run } of head.audit) if (run !== undefined) known.add(run)
  const within = <T extends Json | undefined>(value: T): T => renamedJson(value, known, names) as T
  const named = (id: string | undefined): { compaction?: string } =>
    id === undefined ? {} : { compaction: names(id) }
  return {
    ...head,
    session: { ...head.session, id: sessionId },
    compactions: head.compactions.map(
      (one): CompactionRecord => ({
        ...one,
        id: names(one.id),
        run: names(one.run),
        status: one.status === 'running' ? 'expired' : one.status,
        ...(one.params !== undefined && { params: within<JsonObject>(one.params) }),
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
  }
}

/** A value in which every text that is a known name is the new one. Keys stay, a key `__proto__` too. */
function renamedJson(value: Json | undefined, known: ReadonlySet<string>, names: Names): Json | undefined {
  if (names === OWN_NAMES) return value
  if (typeof value === 'string') return known.has(value) ? names(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((inner: Json) => renamedJson(inner, known, names)!)
  const entries = Object.entries(value).map(
    ([key, inner]) => [key, renamedJson(inner, known, names)] as const,
  )
  return Object.fromEntries(entries)
}

/** A row, or a text shown in its place, as it is restored. */
export function renamedRow<R extends RowRecord | ReplacementRecord>(record: R, names: Names): R {
  const { compaction, condenseParent, truncationParent } = record as Partial<
    Record<'compaction' | 'condenseParent' | 'truncationParent', string>
  >
  return {
    ...record,
    ...(compaction !== undefined && { compaction: names(compaction) }),
    ...(condenseParent !== undefined && { condenseParent: names(condenseParent) }),
    ...(truncationParent !== undefined && { truncationParent: names(truncationParent) }),
  }
}
