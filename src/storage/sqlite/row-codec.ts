import type { MessageIndex } from '../../core/index-message.ts'
import { ROLES, ROW_KINDS, type Role, type RowKind } from '../../core/message.ts'
import type { ShownReplacement } from '../../core/view.ts'
import { UndertextError } from '../../errors.ts'
import { parseStoredLists } from './content-codec.ts'

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

/**
 * SQL for kind and role in one number, as `unpackKind` and `unpackRole` read it: the driver's time for a row is the
 * number of its columns. They lie far apart, so that a damaged one is no other than it was, but unreadable.
 */
export const PACKED_KIND = 'm.kind * 1048576 + m.role'
const KIND_UNIT = 1_048_576

export function unpackKind(packed: number): RowKind {
  return decodeKind(Math.floor(packed / KIND_UNIT))
}

export function unpackRole(packed: number): Role {
  return decodeRole(packed % KIND_UNIT)
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
  throw new UndertextError('STORE_CORRUPT', { detail: `the ${what} of a row cannot be read` })
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
