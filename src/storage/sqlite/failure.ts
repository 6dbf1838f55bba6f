import { isUndertextError, UndertextError } from '../../errors.ts'

/** What the translation needs to know of the connection that failed. */
export type Where = { readonly location: string; readonly busyTimeoutMs: number; readonly verb: string }

/**
 * Turns what the driver throws into our own error. The driver's sentences name tables and columns, never
 * values, so its error may stay as the cause; but not of a damaged file, where what it takes for a table's name
 * may be what somebody said.
 */
export function translateFailure(error: unknown, where: Where): unknown {
  if (isUndertextError(error)) return error
  if (error instanceof RangeError && /string length|too large/i.test(error.message)) {
    return new UndertextError(
      'INVALID_INPUT',
      { problems: 'a message is larger than a database can hold' },
      { cause: error },
    )
  }
  const code = sqliteCode(error)
  if (code === undefined) return error
  const cause = { cause: error }
  if (/^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code)) {
    return new UndertextError('STORE_BUSY', { waitedMs: where.busyTimeoutMs }, cause)
  }
  if (code === 'SQLITE_FULL') return new UndertextError('STORE_FULL', { detail: code }, cause)
  if (code === 'SQLITE_TOOBIG') {
    return new UndertextError(
      'INVALID_INPUT',
      { problems: 'a message is larger than a database can hold' },
      cause,
    )
  }
  if (code === 'SQLITE_NOTADB') {
    return new UndertextError(
      'NOT_A_STORE',
      { location: where.location, detail: 'the file is not an SQLite database.' },
      cause,
    )
  }
  if (code.startsWith('SQLITE_READONLY'))
    return new UndertextError('STORE_READONLY', { verb: where.verb }, cause)
  if (/^SQLITE_(IOERR|CANTOPEN|PERM|AUTH|NOMEM|NOLFS|INTERRUPT)/.test(code)) {
    return new UndertextError(
      'STORE_UNAVAILABLE',
      { location: where.location, detail: `the file cannot be read or written (${code}).` },
      cause,
    )
  }
  // SQLITE_CORRUPT; and what our own statements can only meet in a file that is not as they left it: a column that
  // is not there, a value that a constraint forbids.
  return new UndertextError('STORE_CORRUPT', { detail: code })
}

/**
 * What a call of the driver threw: SQLite's errors and those about sizes as they are, for `translateFailure` to tell
 * apart; anything else (the connection is iterating, say) as our own. Errors of our own code never come this way.
 */
export function fromDriver(error: unknown, location: string): unknown {
  if (sqliteCode(error) !== undefined || error instanceof RangeError || isUndertextError(error)) return error
  const detail = `the driver failed (${error instanceof Error ? error.name : typeof error}).`
  return new UndertextError('STORE_UNAVAILABLE', { location, detail }, { cause: error })
}

/** The code of an error of the driver, whichever copy of it threw. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'SqliteError') return undefined
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
