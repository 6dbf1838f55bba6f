import BetterSqlite3 from 'better-sqlite3'
import type { ErrorCode } from '../../src/index.ts'
import type { Database } from '../../src/storage/sqlite/driver.ts'
import { interceptStatements } from './statements.ts'

/** A way for a statement to fail, and what a caller must hear of it. */
export type Fault = {
  readonly name: string
  readonly code: ErrorCode
  readonly error: () => Error
  /**
   * What SQLite did before it said no: nothing; nothing, and it took the whole transaction back, as it does when the
   * disk is full; or all that was asked for, and only the answer was lost.
   */
  readonly leaves: 'untouched' | 'rolled back' | 'done'
}

const sqlite =
  (code: string, message: string): (() => Error) =>
  () =>
    new BetterSqlite3.SqliteError(message, code)

export const FAULTS: readonly Fault[] = [
  {
    name: 'full',
    code: 'STORE_FULL',
    error: sqlite('SQLITE_FULL', 'database or disk is full'),
    leaves: 'untouched',
  },
  {
    name: 'full, rolled back',
    code: 'STORE_FULL',
    error: sqlite('SQLITE_FULL', 'database or disk is full'),
    leaves: 'rolled back',
  },
  {
    name: 'unwritable',
    code: 'STORE_UNAVAILABLE',
    error: sqlite('SQLITE_IOERR_WRITE', 'disk I/O error'),
    leaves: 'untouched',
  },
  {
    name: 'unwritable, rolled back',
    code: 'STORE_UNAVAILABLE',
    error: sqlite('SQLITE_IOERR_FSYNC', 'disk I/O error'),
    leaves: 'rolled back',
  },
  {
    name: 'busy',
    code: 'STORE_BUSY',
    error: sqlite('SQLITE_BUSY', 'database is locked'),
    leaves: 'untouched',
  },
  {
    name: 'corrupt',
    code: 'STORE_CORRUPT',
    error: sqlite('SQLITE_CORRUPT', 'database disk image is malformed'),
    leaves: 'untouched',
  },
  {
    name: 'out of memory',
    code: 'STORE_UNAVAILABLE',
    error: sqlite('SQLITE_NOMEM', 'out of memory'),
    leaves: 'rolled back',
  },
  {
    name: 'no error of SQLite',
    code: 'STORE_UNAVAILABLE',
    error: () => new Error('something else'),
    leaves: 'untouched',
  },
  {
    name: 'answer lost',
    code: 'STORE_UNAVAILABLE',
    error: sqlite('SQLITE_IOERR', 'disk I/O error'),
    leaves: 'done',
  },
]

/** What was seen of the statements of one verb. */
export type Watch = {
  /** How many there were, up to the one that failed. */
  readonly count: number
  /** The statement that failed, and how. */
  readonly failed: { readonly sql: string; readonly fault: Fault } | undefined
  /** Transactions that wrote and were committed. */
  readonly commits: number
  /** Statements that SQLite itself refused, taking the transaction back. */
  readonly rolledBack: number
}

type Seen = { -readonly [K in keyof Watch]: Watch[K] }

/**
 * Makes statements fail: of each verb the first that did not fail before in that way, so that verb after verb every
 * statement fails once in every way asked for. Statements are told apart by their text and how often it came before.
 */
export class FaultySet {
  readonly #faultsOf: (sql: string, times: number) => readonly Fault[]
  readonly #had = new Set<string>()
  #times = new Map<string, number>()
  #seen: Seen | undefined
  #isWriting = false

  constructor(faultsOf: (sql: string, times: number) => readonly Fault[]) {
    this.#faultsOf = faultsOf
  }

  /** Lays itself on a connection; answers how to take it off. */
  lay(target: Database): () => void {
    return interceptStatements(target, (sql, execute, database) => {
      const seen = this.#seen
      if (seen === undefined) return execute()
      const fault = seen.failed === undefined ? this.#due(sql, seen) : undefined
      if (fault === undefined) return this.#executed(sql, execute, seen, database)
      seen.failed = { sql, fault }
      if (fault.leaves === 'done') this.#executed(sql, execute, seen, database)
      if (fault.leaves === 'rolled back' && database.inTransaction) this.#rollBack(database)
      throw fault.error()
    })
  }

  /** Lets a verb run with the next statement failing, and tells what was seen. */
  async during(act: () => Promise<unknown>): Promise<{ error: unknown; watch: Watch }> {
    this.#times = new Map()
    const seen: Seen = { count: 0, failed: undefined, commits: 0, rolledBack: 0 }
    this.#seen = seen
    let error: unknown
    try {
      await act()
    } catch (thrown) {
      error = thrown
    }
    this.#seen = undefined
    return { error, watch: seen }
  }

  #due(sql: string, seen: Seen): Fault | undefined {
    seen.count += 1
    const times = (this.#times.get(sql) ?? 0) + 1
    this.#times.set(sql, times)
    const keyOf = ({ name }: Fault): string => `${name} ${times} ${sql}`
    const fault = this.#faultsOf(sql, times).find((one) => !this.#had.has(keyOf(one)))
    if (fault !== undefined) this.#had.add(keyOf(fault))
    return fault
  }

  #executed(sql: string, execute: () => unknown, seen: Seen, database: Database): unknown {
    const { inTransaction } = database
    let answer: unknown
    try {
      answer = execute()
    } catch (error) {
      if (inTransaction && !database.inTransaction) seen.rolledBack += 1
      throw error
    }
    if (sql === 'begin immediate') this.#isWriting = true
    if (sql === 'commit' && this.#isWriting) seen.commits += 1
    if (sql === 'commit' || sql === 'rollback') this.#isWriting = false
    return answer
  }

  #rollBack(database: Database): void {
    const seen = this.#seen
    this.#seen = undefined
    database.exec('rollback')
    this.#seen = seen
    this.#isWriting = false
  }
}

/** One way for a statement to fail, always the same one: for runs that have little time. */
export function oneFault(sql: string, times: number): readonly Fault[] {
  return [FAULTS[(sql.length + times) % FAULTS.length]!]
}

/** The same, and several for the end of a transaction. */
export function someFaults(sql: string, times: number): readonly Fault[] {
  if (sql !== 'commit') return oneFault(sql, times)
  return FAULTS.filter(({ name }) => /^full|^answer lost/.test(name))
}
