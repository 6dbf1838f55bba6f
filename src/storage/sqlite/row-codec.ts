import { ROLES, ROW_KINDS, type Role, type RowKind } from '../../messages/message.ts'
import type { MessageIndex } from '../../model/index-message.ts'
import type { ShownReplacement } from '../../model/view-row.ts'
import { damaged, parseStoredLists } from './content-codec.ts'

/** Bits of `flags`; two, as the index of the view packs them. */
export const REASONING = 1
export const SPEAKS = 2

export function encodeFlags(index: Pick<MessageIndex, 'hasReasoning' | 'speaks'>): number {
  return (index.hasReasoning ? REASONING : 0) | (index.speaks ? SPEAKS : 0)
}

export function encodeRole(role: Role): number {
  return ROLES.indexOf(role)
}

export function encodeKind(kind: RowKind): number {
  return ROW_KINDS.indexOf(kind)
}

/** Units of what comes as one number: far apart, so that a damaged code stays itself and is unreadable. */
const KIND_UNIT = 2 ** 40
const ROLE_UNIT = 2 ** 20
const FLAGS_UNIT = 2

/** SQL for kind and role in one number. Fewer columns are faster (docs/decisions.md, "Rows come by columns"). */
export const PACKED_KIND = `m.kind * ${KIND_UNIT} + m.role * ${ROLE_UNIT}`
/** The same with flags and pin. */
export const PACKED_ROW = `${PACKED_KIND} + m.flags * ${FLAGS_UNIT} + m.pinned`

/** Throws `STORE_CORRUPT`, as the other two. */
export function unpackKind(packed: number): RowKind {
  return decodeKind(Math.floor(packed / KIND_UNIT))
}

export function unpackRole(packed: number): Role {
  return decodeRole(Math.floor((packed % KIND_UNIT) / ROLE_UNIT))
}

/** Flags as `encodeFlags` made them. */
export function unpackFlags(packed: number): number {
  const flags = Math.floor((packed % ROLE_UNIT) / FLAGS_UNIT)
  return flags <= (REASONING | SPEAKS) ? flags : unreadable('index')
}

export function unpackPinned(packed: number): boolean {
  return packed % FLAGS_UNIT === 1
}

/** Throws `STORE_CORRUPT` for a code that is none. */
export function decodeRole(code: unknown): Role {
  return ROLES[code as number] ?? unreadable('role')
}

/** Throws `STORE_CORRUPT` for a code that is none. */
export function decodeKind(code: unknown): RowKind {
  return ROW_KINDS[code as number] ?? unreadable('kind')
}

function unreadable(what: string): never {
  throw damaged(what, 'a row')
}

/** The replacements a row shows. Throws `STORE_CORRUPT`, naming `row`; `verifySession` can mend it. */
export function decodeShown(text: unknown, row: string | number = 'a row'): readonly ShownReplacement[] {
  if (text === null) return []
  return (parseStoredLists(text, 'list of replacements', row) as [number, number][]).map(
    ([part, compaction]) => ({
      part,
      compaction,
    }),
  )
}

export function encodeShown(shown: readonly ShownReplacement[]): string | null {
  return shown.length === 0 ? null : JSON.stringify(shown.map(({ part, compaction }) => [part, compaction]))
}

/** The id of a row: the caller's own, or one made of the session's incarnation and the row's place. */
export function rowId(incarnation: string, id: unknown, position: unknown, ordinal: unknown): string {
  if (id !== null) return id as string
  return position === null ? `${incarnation}:s${ordinal}` : `${incarnation}:${position}`
}
