import { invalid, type UndertextError } from '../core/errors.ts'

/* Work of the application within a transaction of the store (`Also`). */

/** What such work threw. It isn't an `Error`, so it passes unchanged where errors of the driver are translated. */
export class ThrownByAlso {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/** Returns the error for work that ended the transaction, or that ignored a failed statement on PostgreSQL. */
export function endedByAlso(): UndertextError {
  return invalid(
    'also: must neither begin nor end a transaction, nor ignore a failed statement. Read the session: the messages may be stored',
  )
}

/** Returns an error as the application knows it. */
export function unwrapped(error: unknown): unknown {
  return error instanceof ThrownByAlso ? error.error : error
}
