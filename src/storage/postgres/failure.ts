import { type Failures, isUndertextError, UndertextError } from '../../core/errors.ts'
import { TABLES } from './guards.ts'

/** The relevant facts of a driver's error. */
export type Failure = {
  /** The server's five-character code, a code of the operating system, or `undefined`. */
  readonly code: string | undefined
  /** The violated constraint or unique index. */
  readonly constraint: string | undefined
  /** Whether the transaction may succeed if it is repeated. */
  readonly isPassing: boolean
  /** Whether the connection was lost. */
  readonly isLost: boolean
  /** Whether a machine of a cluster couldn't be reached at all, so that nothing was written there. */
  readonly isRefused: boolean
  /** The error to throw. */
  readonly error: UndertextError
}

export type Where = { readonly location: string; readonly busyTimeoutMs: number; readonly verb: string }

/** The server's code for too many connections. */
export const NO_CONNECTION_FREE = '53300'

const LOST =
  /^(?:08...|57P0[1-5]|25P0[34]|ECONN\w+|EPIPE|E\w*TIMEDOUT|E(?:HOST|NET)(?:UNREACH|DOWN)|EAI_\w+|ENOTFOUND|ENOENT)$/
const LOST_WORDS = /connection terminated|connection error|timeout|timed out|closed by/i
const CLOSED_WORDS = /calling end on the pool|client was closed|pglite is clos/i

/** Reads an error of the driver. Only the code is used in the resulting error: the server's messages and details quote values. */
export function readFailure(error: unknown, where: Where): Failure {
  const { code, constraint: named } = factsOf(error)
  const message = error instanceof Error ? error.message : ''
  const constraint = named ?? (code === '23505' ? SHARD_CONSTRAINT.exec(message)?.[1] : undefined)
  const isTaken = code === '23505' && constraint !== undefined && /_pkey\d*$/.test(constraint)
  return {
    code,
    constraint,
    isPassing: code === '40001' || code === '40P01' || isTaken || isStalePlan(error),
    isLost: isLost(code, error),
    isRefused: code === '08006' && message.includes('Connection refused'),
    error: isUndertextError(error) ? error : errorOf(code, message, isTaken, where, error),
  }
}

/** A worker of Citus names a constraint only in its message, with the number of the shard at the end. */
const SHARD_CONSTRAINT = /\b(\w+_(?:pkey\d*|id|open))_\d+\b/

/** Returns the serialization failure or the deadlock that an error of the application is or has as its cause, if any. */
export function conflictIn(error: unknown): unknown {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (/^(?:40001|40P01)$/.test(factsOf(one).code ?? '')) return one
    seen.add(one)
  }
  return undefined
}

/**
 * Returns whether a prepared statement no longer matches its tables, because another process changed their types. On a new connection it is
 * prepared again.
 */
export function isStalePlan(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as { code?: unknown; routine?: unknown }
  return code === '0A000' && routine === 'RevalidateCachedQuery'
}

/** Returns whether the connection was lost: true unless the server answered or a value was invalid. */
function isLost(code: string | undefined, error: unknown): boolean {
  if (isUndertextError(error) || error instanceof RangeError) return false
  return code === undefined || !isServerCode(code) || LOST.test(code)
}

/** Returns whether a code is the server's; codes of the operating system begin with an E. */
function isServerCode(code: string): boolean {
  return /^(?!E)[0-9A-Z]{5}$/.test(code)
}

/** Returns whether a text was too long for JavaScript. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof RangeError && /string length|too large/i.test(error.message)
}

export function tooLarge(): UndertextError {
  return new UndertextError('INVALID_INPUT', {
    problems: 'a message, an id or a key is too large for the database',
  })
}

/** Returns the code and the constraint of an error. If several attempts to connect failed, those of the first. */
function factsOf(error: unknown): { code?: string; constraint?: string } {
  if (!(error instanceof Error) || isUndertextError(error)) return {}
  const { code, constraint, errors } = error as { code?: unknown; constraint?: unknown; errors?: unknown }
  if (typeof code !== 'string') return Array.isArray(errors) ? factsOf(errors[0]) : {}
  return { code, ...(typeof constraint === 'string' ? { constraint } : {}) }
}

function errorOf(
  code: string | undefined,
  message: string,
  isTaken: boolean,
  { location, busyTimeoutMs: waitedMs, verb }: Where,
  error: unknown,
): UndertextError {
  const unavailable = (detail: string, advice?: Advice): UndertextError =>
    new UndertextError('STORE_UNAVAILABLE', { location, detail, ...(advice !== undefined && { advice }) })
  const invalid = (problems: string): UndertextError => new UndertextError('INVALID_INPUT', { problems })

  if (error instanceof RangeError) return tooLarge()
  if (code === undefined) {
    if (CLOSED_WORDS.test(message)) return new UndertextError('STORE_CLOSED', {})
    if (LOST_WORDS.test(message)) return unavailable("the connection was lost, or the server doesn't answer.")
    const name = error instanceof Error ? error.name : typeof error
    const isPassword = /password|SASL/.test(message)
    return unavailable(isPassword ? wrongCredentials(name) : `the driver failed (${name}).`)
  }
  if (!isServerCode(code)) return unavailable(systemDetail(code))

  if (isTaken || /^(?:40001|40P01|55P03)$/.test(code)) return new UndertextError('STORE_BUSY', { waitedMs })
  if (code === NO_CONNECTION_FREE)
    return new UndertextError('STORE_BUSY', { waitedMs, detail: 'The server accepted no more connections' })
  if (code === '25006') return new UndertextError('STORE_READONLY', { verb, detail: READING_ONLY })
  if (/^53[12]00$/.test(code)) return new UndertextError('STORE_FULL', { detail: code })
  if (code === '54000') return tooLarge()
  if (/^22(?:021|P05)$/.test(code))
    return invalid(`a text has a character that the database cannot store (${code})`)
  if (code.startsWith('28')) return unavailable(wrongCredentials(code))
  const [, detail, advice] = DETAILS.find(([pattern]) => pattern.test(code)) ?? []
  if (detail !== undefined) return unavailable(detail(code), advice)
  if (isMistake(code, message)) return new UndertextError('INTERNAL_ERROR', { detail: `${code}, ${verb}` })
  // Errors that occur only if another program changed the database, and errors of the triggers.
  return new UndertextError('STORE_CORRUPT', { detail: code })
}

/**
 * Returns whether the statement itself is wrong: its syntax, a name or a type. If a table of the migrations is missing, another program has
 * dropped it.
 */
function isMistake(code: string, message: string): boolean {
  if (code !== '42P01') return code.startsWith('42')
  const table = /"(?:[^"]*\.)?(\w+)"/.exec(message)?.[1]
  return table === undefined || !TABLES.includes(table)
}

const READING_ONLY =
  'The server accepts only read transactions (a standby, or default_transaction_read_only is on)'

function wrongCredentials(code: string): string {
  return `the server rejected the credentials (${code}). Check the user, the password and the server's pg_hba.conf.`
}

type Advice = NonNullable<Failures['STORE_UNAVAILABLE']['advice']>

/** The cause and the remedy, by the server's codes. */
const DETAILS: readonly (readonly [RegExp, (code: string) => string, Advice?])[] = [
  [/^57P03$/, (code) => `the server is starting or stopping (${code}). Try again.`],
  [LOST, (code) => `the connection was lost (${code}). Try again.`],
  [
    /^57014$/,
    (code) => `the server canceled a statement (${code}), and nothing was written. Raise statement_timeout.`,
  ],
  [/^3D000$/, (code) => `the server has no database with this name (${code}). Create it: createdb`],
  [
    /^UT002$/,
    (code) => `a fork of another owner needs these messages (${code}), and nothing was written.`,
    'KEEP_FORKS',
  ],
  [
    /^23503$/,
    (code) => `rows of another program refer to these (${code}), and nothing was written. Delete them first.`,
  ],
  [
    /^42501$/,
    (code) => `the role lacks a privilege (${code}). Grant it privileges on the schema and its tables.`,
  ],
  [/^(?:26000|42P05)$/, (code) => `a prepared statement was lost (${code}).`, 'UNPREPARED'],
  [/^0A000$/, (code) => `another process changed the tables (${code}). Try again.`],
  [/^53/, (code) => `the server lacks resources (${code}).`],
  [/^58/, (code) => `the server cannot read or write its files (${code}).`],
]

function systemDetail(code: string): string {
  if (code === 'ERR_INVALID_URL')
    return "the address doesn't have the form postgres://user:password@host:5432/database."
  if (/CERT|TLS|SSL/.test(code))
    return `the connection could not be encrypted (${code}). Check sslmode in the URL, or ssl of the pool.`
  if (LOST.test(code))
    return `the server cannot be reached (${code}). Check that it is running, and check its host and port.`
  return `the driver failed (${code}).`
}
