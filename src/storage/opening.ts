import { UndertextError } from '../core/errors.ts'
import type { GuardProblems } from './sql/sql.ts'

/* The checks of both engines when a store is opened: the version of its schema, and the triggers that protect the history. */

/** Returns the schema version in a row; 0 without a row. */
export function versionIn(row: readonly unknown[] | undefined): number {
  if (row === undefined) return 0
  const version = Number(row[0])
  if (Number.isSafeInteger(version) && version >= 0) return version
  throw new UndertextError('STORE_CORRUPT', { detail: "its schema version isn't a number" })
}

export function rejectNewer(found: number, supported: number): void {
  if (found > supported) throw new UndertextError('STORE_TOO_NEW', { found, supported })
}

/** The error for a read-only store that isn't up to date. */
export function outdated(location: string, found: number, supported: number): UndertextError {
  if (found > 0) return new UndertextError('STORE_TOO_OLD', { found, supported })
  return notAStore(location, "it has no undertext tables, and a read-only store doesn't create them.")
}

export function notAStore(location: string, detail: string, advice?: 'ADOPT'): UndertextError<'NOT_A_STORE'> {
  return new UndertextError('NOT_A_STORE', { location, detail, ...(advice !== undefined && { advice }) })
}

/** Throws `NOT_A_STORE` if triggers of the migrations are missing or changed. */
export function rejectUnguarded(
  location: string,
  { missing, changed, disabled = [] }: GuardProblems & { readonly disabled?: readonly string[] },
): void {
  for (const [what, names] of Object.entries({ missing, modified: changed, disabled }))
    if (names.length > 0) throw notAStore(location, `its triggers are ${what} (${names.join(', ')}).`)
}

const warned = new Set<string>()

/** Reports each foreign trigger once. They may be intended, so they aren't an error. */
export function warnOfForeign(location: string, { foreign }: GuardProblems): void {
  for (const name of foreign) {
    const what = `undertext: ${JSON.stringify(location)} has a trigger on an undertext table that undertext didn't create: ${JSON.stringify(name)}`
    if (warned.has(what)) continue
    warned.add(what)
    process.emitWarning(what, { type: 'UndertextWarning', code: 'UNDERTEXT_TRIGGER' })
  }
}
